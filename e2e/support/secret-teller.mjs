// A command that gives away every secret that it was given, for the repository of a run: a byte at a time, in every form
// that programs print, on both streams, and in results as dbt writes them.
//
//   node secret-teller.mjs <canary> NAME…
import { mkdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs'

const [canary, ...names] = process.argv.slice(2)
const secrets = names.map((name) =>
  name.startsWith('@') ? readFileSync(process.env[name.slice(1)], 'utf8') : process.env[name],
)

const inJson = (text) => JSON.stringify(text).slice(1, -1)
function formsOf(secret) {
  const bytes = Buffer.from(secret)
  return {
    plain: secret,
    JSON: JSON.stringify({ secret }),
    'JSON in JSON': JSON.stringify(JSON.stringify({ secret })),
    'JSON, ASCII': inJson(secret).replace(
      /[\u007f-\uffff]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
    URL: encodeURIComponent(secret),
    form: new URLSearchParams({ secret }).toString(),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    ...Object.fromEntries(
      ['', 'a', 'ab', 'abc'].flatMap((before) => [
        [`base64 behind ${before.length}`, Buffer.from(`${before}${secret}after`).toString('base64')],
        [`base64url behind ${before.length}`, Buffer.from(`${before}${secret}after`).toString('base64url')],
      ]),
    ),
    'single quotes': `'${secret.replaceAll("'", `'\\''`)}'`,
    'double quotes': `"${secret.replace(/[$`"\\!]/g, '\\$&')}"`,
  }
}

const told = [`${canary} begins`]
for (const secret of secrets) for (const [form, text] of Object.entries(formsOf(secret))) told.push(`${form}: ${text}`)
// One right behind the other, and one that never comes to its end.
told.push(secrets.join(''), `${secrets[0].slice(0, -1)} is not the secret`, `${canary} ends`)
const bytes = Buffer.from(`${told.join('\n')}\n`)
for (let at = 0; at < bytes.length; at++) for (const fd of [1, 2]) writeSync(fd, bytes, at, 1)

mkdirSync('target', { recursive: true })
const results = told.map((message, at) => ({
  unique_id: `model.yard.m${at}`,
  status: 'error',
  message,
  execution_time: 1,
  failures: null,
}))
writeFileSync('target/run_results.json', JSON.stringify({ metadata: {}, results }))
