// Writes the files that are made from others: `npm run generate`. With --check nothing is written; stale files are
// listed and the exit code is 1, which is how the test command keeps them fresh.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codegen } from '@graphql-codegen/core'
import * as typescript from '@graphql-codegen/typescript'
import { buildSchema, parse, printSchema } from 'graphql'
import { renderCliReference } from '../service/src/cli/reference.ts'
import { renderReference } from '../service/src/config/describe.ts'

const HEADER = '// Generated from contract/*/*.graphql, do not edit: npm run generate\n'

/** Every generated file: its path in the repository, and what it must hold. */
export async function generatedFiles(root: string): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['docs/cli.md', renderCliReference()],
    ['docs/configuration.md', renderReference()],
    ['service/src/api/graphql/wire-types.ts', await wireTypes(readContract(root))],
  ])
}

/** Writes what is stale, or with `check` only names it. Returns the stale files. */
export async function generate(root: string, options: { check: boolean }): Promise<string[]> {
  const stale = [...(await generatedFiles(root))].filter(([path, text]) => readOrNothing(join(root, path)) !== text)
  if (!options.check) {
    for (const [path, text] of stale) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
  }
  return stale.map(([path]) => path)
}

function readContract(root: string): string {
  return ['contract/public', 'contract/console']
    .flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => name.endsWith('.graphql'))
        .sort()
        .map((name) => readFileSync(join(root, folder, name), 'utf8')),
    )
    .join('\n')
}

/**
 * The types that resolvers read and presenters make. Fields of objects are required, so that a forgotten one does not
 * compile; fields of inputs and arguments stay optional, as clients may leave them out.
 */
export async function wireTypes(sdl: string): Promise<string> {
  // Printed once by graphql-js, which puts every `extend type` into its type.
  const schema = parse(printSchema(buildSchema(sdl)))
  const text = await codegen({
    filename: 'wire-types.ts',
    documents: [],
    schema,
    config: {
      enumsAsTypes: true,
      skipTypename: true,
      useTypeImports: true,
      maybeValue: 'T | null',
      inputMaybeValue: 'T | null | undefined',
      avoidOptionals: { field: true, object: false, inputValue: false, defaultValue: false },
      strictScalars: true,
      scalars: {
        Timestamp: 'string',
        // A string only for keys of existing clients.
        JSON: { input: 'unknown', output: 'Record<string, unknown> | string' },
      },
    },
    plugins: [{ typescript: {} }],
    pluginMap: { typescript },
  })
  return `${HEADER}${text.trimEnd()}\n`
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

if (import.meta.main) {
  const check = process.argv.includes('--check')
  const stale = await generate(dirname(dirname(fileURLToPath(import.meta.url))), { check })
  for (const path of stale) console.log(check ? `stale: ${path}` : `written: ${path}`)
  if (check && stale.length > 0) {
    console.log('Run: npm run generate')
    process.exitCode = 1
  }
}
