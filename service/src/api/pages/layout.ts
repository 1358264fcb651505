// The frame of every page: headers, head, the mark, one main with one h1. No script anywhere, one stylesheet.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Html, html, type Value } from './html.ts'

const CSS = readFileSync(new URL('./pages.css', import.meta.url))
const CSS_DIGEST = createHash('sha256').update(CSS).digest('hex').slice(0, 16)

// `same-origin` of every answer (server.ts) is needed here: with `no-referrer` browsers send `Origin: null` with forms.
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

export interface Page {
  readonly title: string
  readonly status?: number
  readonly body: Html
  /** Go on by itself, as a navigation that our own page began. */
  readonly refreshTo?: string
  readonly wide?: boolean
}

export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply
    .code(page.status ?? 200)
    .header('content-security-policy', POLICY)
    .type('text/html; charset=utf-8')
    .send(render(page).text)
}

// A track that forks: where a yardmaster decides.
const MARK = html`<svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false"><path d="M9 30V2M23 30V20C23 12 9 14 9 6" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/><circle cx="23" cy="6" r="3.5" fill="currentColor"/></svg>`

function render({ title, body, refreshTo, wide }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refreshTo !== undefined && html`<meta http-equiv="refresh" content="0; url=${refreshTo}">`}
<title>${title} · Yardmaster</title>
<link rel="stylesheet" href="/pages.css?${CSS_DIGEST}">
</head>
<body>
<header><a class="brand" href="/">${MARK}<span>Yardmaster</span></a></header>
<main${wide === true && html` class="wide"`}>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`
}

export function registerStylesheet(app: FastifyInstance): void {
  app.get('/pages.css', { config: { access: 'public' } }, (_request, reply) => {
    // For ever, because pages ask for it by its digest.
    void reply.header('cache-control', 'public, max-age=31536000, immutable').type('text/css; charset=utf-8').send(CSS)
  })
}

export interface Field {
  readonly name: string
  readonly label: string
  readonly type: 'text' | 'email' | 'password'
  readonly autocomplete: 'username' | 'name' | 'current-password' | 'new-password'
  readonly hint?: string
  readonly value?: string
  /** Shown, and what a password manager goes by; the answer is known already. */
  readonly readOnly?: boolean
  readonly minLength?: number
  readonly maxLength?: number
}

export interface Form {
  readonly action: string
  readonly button: string
  readonly fields?: readonly Field[]
  /** What goes along without being seen. */
  readonly hidden?: Readonly<Record<string, string>>
  /** Why the last try did not work. */
  readonly error?: string | undefined
  readonly secondary?: boolean
}

export function form({ action, button, fields = [], hidden = {}, error, secondary }: Form): Html {
  const first = fields.find((field) => field.readOnly !== true)
  return html`<form method="post" action="${action}">
${notice(error)}
${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${fields.map((field) => input(field, field === first))}
<button type="submit"${secondary === true && html` class="secondary"`}${fields.length === 0 && secondary !== true && html` autofocus`}>${button}</button>
</form>`
}

/** Read out at once by a screen reader. */
export const notice = (error: string | undefined): Value =>
  error !== undefined && html`<p class="error" role="alert">${error}</p>`

function input(field: Field, first: boolean): Html {
  const { name, label, type, autocomplete, hint, value, minLength, maxLength } = field
  const must = field.readOnly === true ? html` readonly` : html` required`
  const described = hint === undefined ? null : html` aria-describedby="${name}-hint"`
  const limits = html`${minLength !== undefined && html` minlength="${minLength}"`}${maxLength !== undefined && html` maxlength="${maxLength}"`}`
  const plain = type === 'text' ? null : html` autocapitalize="none" spellcheck="false"`
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${must}${value !== undefined && html` value="${value}"`}${limits}${plain}${described}${first && html` autofocus`}>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>
`
}

export const emailField = (value?: string): Field => ({
  name: 'email',
  label: 'E-mail address',
  type: 'email',
  autocomplete: 'username',
  maxLength: 254,
  ...(value !== undefined && { value }),
})

/** Whose password it is. */
export const ownerField = (value: string): Field => ({ ...emailField(value), readOnly: true })

export const passwordField = (name: string, label: string): Field => ({
  name,
  label,
  type: 'password',
  autocomplete: 'current-password',
})

export const newPasswordFields: readonly Field[] = [
  {
    name: 'password',
    label: 'New password',
    type: 'password',
    autocomplete: 'new-password',
    hint: 'At least 10 characters. A few words in a row are good.',
    minLength: 10,
    maxLength: 1000,
  },
  { name: 'again', label: 'The same once more', type: 'password', autocomplete: 'new-password', maxLength: 1000 },
]
