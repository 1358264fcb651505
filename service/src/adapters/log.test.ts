import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { createLog, type LogOptions } from './log.ts'

function logInto(lines: string[], level: LogOptions['level'] = 'debug') {
  return createLog({ level, destination: { write: (line) => void lines.push(line) } })
}

test('a line is one JSON object with level, time, sentence and fields', () => {
  const lines: string[] = []
  logInto(lines).info({ run: 42 }, 'run started')
  const { pid, time, ...rest } = JSON.parse(lines[0]!)
  assert.deepEqual(rest, { level: 'info', run: 42, msg: 'run started' })
  assert.equal(pid, process.pid)
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.ok(lines[0]!.endsWith('}\n'))
})

test('lines below the level are left out', () => {
  const lines: string[] = []
  const log = logInto(lines, 'warn')
  log.info({}, 'quiet')
  log.warn({}, 'heard')
  assert.equal(lines.length, 1)
})

test('an error is logged with its message, stack and cause under err and under error', () => {
  const lines: string[] = []
  const log = logInto(lines)
  const error = new Error('outer', { cause: new Error('inner') })
  log.error({ err: error }, 'failed')
  log.error({ error }, 'failed')
  for (const [index, key] of ['err', 'error'].entries()) {
    const logged = JSON.parse(lines[index]!)[key]
    assert.match(logged.message, /outer: inner/)
    assert.match(logged.stack, /caused by: Error: inner/)
  }
})

test('secrets are masked in fields, in the sentence, in errors and in what a child carries', () => {
  const lines: string[] = []
  const log = logInto(lines)
  const token = `ym_acc_${'a1B2'.repeat(15)}`
  const value = 'a registered "value"'
  log.mask(value)
  const child = log.child({
    req: { headers: { authorization: 'Bearer whatever' } },
    link: `https://yard/link/${token}`,
  })
  log.mask('registered-after-the-child')
  log.debug({ url: 'postgres://app:pw12@db/y', headers: { cookie: 'session=1' } }, `signed in with ${token}`)
  log.info({ value, list: [value] }, 'plain')
  log.error({ err: new Error(`cannot reach https://u:pw12@host with ${value}`) }, 'failed')
  log.warn({}, Buffer.from(value).toString('base64'))
  child.info({ password: 'pw12', late: 'registered-after-the-child' }, encodeURIComponent(value))
  child.child({ note: JSON.stringify({ value }) }).info({}, 'grandchild')
  const all = lines.join('')
  for (const line of lines) JSON.parse(line)
  assert.equal(lines.length, 6)
  assert.doesNotMatch(all, /a1B2|registered|pw12|session=1|whatever|after-the-child|YSByZWdpc3/)
  assert.match(all, /ym_acc_…/)
  assert.match(all, /postgres:\/\/\[secret\]@db\/y/)
})

test('a value is not masked any more once it is forgotten', () => {
  const lines: string[] = []
  const log = logInto(lines)
  const forget = log.mask('for-a-while')
  forget()
  log.info({}, 'for-a-while')
  assert.equal(JSON.parse(lines[0]!).msg, 'for-a-while')
})

test('texts beside the log can be scrubbed with the same values', () => {
  const log = logInto([])
  log.mask('some-secret-value')
  assert.equal(log.scrub('x some-secret-value y'), 'x [secret] y')
})

test('without a destination lines go to stderr, and are there when the process ends at once', () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
    createLog({ level: 'info' }).info({ url: 'https://u:pw12@h' }, 'last words')
    process.kill(process.pid, 'SIGKILL')
  `
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  assert.equal(stdout, '')
  assert.equal(JSON.parse(stderr).msg, 'last words')
  assert.doesNotMatch(stderr, /pw12/)
})
