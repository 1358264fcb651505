import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { folder } from '../../test/support/config-folder.ts'
import { describeConfig, renderReference, secretTexts } from './describe.ts'
import { loadConfig } from './load.ts'
import { settings } from './settings.ts'

test('each setting is described with its value and where it came from, secrets as [secret]', (t) => {
  const { path: cwd, write } = folder(t)
  const token = write('token', 'token-from-a-file-1\n')
  write('yardmaster.yaml', 'session:\n  hours: 12\n')
  const loaded = loadConfig({
    cwd,
    env: { YARDMASTER_HOST: '::1', YARDMASTER_METRICS_TOKEN_FILE: token, DATABASE_URL: 'postgres://app:hunter22@db/y' },
    overrides: { port: '5000' },
  })
  const rows = describeConfig(loaded)
  const row = (path: string) => rows.find((one) => one.path === path)
  assert.equal(rows.length, settings.length)
  assert.deepEqual(row('port'), { path: 'port', env: 'YARDMASTER_PORT', value: 5000, source: '--port' })
  assert.deepEqual(row('host'), { path: 'host', env: 'YARDMASTER_HOST', value: '::1', source: 'YARDMASTER_HOST' })
  assert.equal(row('publicUrl')?.value, 'http://[::1]:5000')
  assert.equal(row('session.hours')?.source, 'yardmaster.yaml:2')
  assert.deepEqual([row('tls.certFile')?.value, row('masterKey')?.value], [null, null])
  assert.deepEqual(row('roles')?.value, ['api', 'scheduler', 'worker'])
  assert.equal(row('database.url')?.value, '[secret]')
  assert.equal(row('metrics.token')?.value, '[secret]')
  assert.equal(row('metrics.token')?.source, `${token} (named by YARDMASTER_METRICS_TOKEN_FILE)`)
  for (const shown of [
    JSON.stringify(rows),
    JSON.stringify(loaded.config),
    inspect(loaded, { depth: 9, showHidden: true }),
  ]) {
    assert.doesNotMatch(shown, /hunter22|token-from-a-file/)
  }
})

test('the texts to mask hold each secret, each master key, and the passwords of URLs', (t) => {
  const { path: cwd } = folder(t)
  const keys = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'))
  const env = {
    DATABASE_URL: 'postgres://app:p%40ss-w0rd@db/y',
    YARDMASTER_METRICS_TOKEN: 'metrics-token-of-mine',
    YARDMASTER_MASTER_KEY: keys.join(','),
    YARDMASTER_SMTP_URL: 'smtp://mail.example.com',
  }
  const texts = secretTexts(loadConfig({ env, cwd }).config)
  for (const text of [...keys, 'p@ss-w0rd', 'p%40ss-w0rd', 'metrics-token-of-mine', env.DATABASE_URL]) {
    assert.ok(texts.includes(text), text)
  }
  assert.deepEqual(secretTexts(loadConfig({ env: {}, cwd }).config), [])
})

test('the reference names every setting, and docs/configuration.md is fresh', () => {
  const reference = renderReference()
  for (const { path, env } of settings) assert.ok(reference.includes(`| \`${path}\` | \`${env}\` |`), path)
  const written = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
  assert.equal(written, reference, 'docs/configuration.md is stale; run: npm run generate')
})

test('every variable is named once, and begins with YARDMASTER_ unless the world has a name for it', () => {
  const names = settings.flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env]))
  assert.equal(new Set(names).size, names.length)
  assert.deepEqual(
    names.filter((name) => !name.startsWith('YARDMASTER_')),
    ['DATABASE_URL', 'DATABASE_URL_FILE'],
  )
})
