// GraphiQL for a signed-in person. Its files and React's come from node_modules, by a fixed list; the page has no script
// and no style of its own inside it, so that its policy can forbid them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export interface GraphiqlOptions {
  /** The person whose session cookie came with the request, null for nobody. */
  readonly personOf: (request: FastifyRequest) => Promise<object | null>
}

const OWN = fileURLToPath(new URL('./graphiql-page/', import.meta.url))
const JAVASCRIPT = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'

const FILES = {
  'react.js': { package: 'react', file: 'umd/react.production.min.js', type: JAVASCRIPT },
  'react-dom.js': { package: 'react-dom', file: 'umd/react-dom.production.min.js', type: JAVASCRIPT },
  'graphiql.js': { package: 'graphiql', file: 'graphiql.min.js', type: JAVASCRIPT },
  'graphiql.css': { package: 'graphiql', file: 'graphiql.min.css', type: CSS },
  'page.js': { package: null, file: 'page.js', type: JAVASCRIPT },
  'page.css': { package: null, file: 'page.css', type: CSS },
} as const

type Name = keyof typeof FILES

// No inline style either: of GraphiQL only the scroll lock behind its dialogs asks for one, and does without.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function registerGraphiql(app: FastifyInstance, options: GraphiqlOptions): void {
  const files = readFiles()
  const page = pageOf(files)

  app.get('/graphiql', { config: { access: 'session' } }, async (request, reply) => {
    if ((await options.personOf(request)) === null) return reply.redirect('/signin?next=/graphiql', 303)
    return reply.header('content-security-policy', POLICY).type('text/html; charset=utf-8').send(page)
  })

  for (const [name, file] of files) {
    app.get(`/graphiql/assets/${name}`, { config: { access: 'public' } }, (_request, reply) => {
      // For ever, because the page asks for each by its digest.
      void reply.header('cache-control', 'public, max-age=31536000, immutable').type(file.type).send(file.bytes)
    })
  }
}

interface File {
  readonly bytes: Buffer
  readonly type: string
  readonly digest: string
}

function readFiles(): ReadonlyMap<Name, File> {
  const require = createRequire(import.meta.url)
  const files = new Map<Name, File>()
  for (const [name, { package: from, file, type }] of Object.entries(FILES)) {
    const folder = from === null ? OWN : dirname(require.resolve(`${from}/package.json`))
    const bytes = readFileSync(join(folder, file))
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
    files.set(name as Name, { bytes, type, digest })
  }
  return files
}

function pageOf(files: ReadonlyMap<Name, File>): string {
  const at = (name: Name): string => `/graphiql/assets/${name}?${files.get(name)!.digest}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphiQL · Yardmaster</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${at('graphiql.css')}">
<link rel="stylesheet" href="${at('page.css')}">
<script src="${at('react.js')}" defer></script>
<script src="${at('react-dom.js')}" defer></script>
<script src="${at('graphiql.js')}" defer></script>
<script src="${at('page.js')}" defer></script>
</head>
<body>
<header>
<strong>Yardmaster</strong>
<label for="workspace">Workspace</label>
<select id="workspace"><option value="">none</option></select>
<span id="notice" role="status"></span>
</header>
<main id="graphiql">Loading…</main>
</body>
</html>
`
}
