import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { AppError } from '../domain/errors.ts'
import { type Call, type Shell, wordsOf } from './command.ts'
import { failureOf } from './errors.ts'
import type { Cli } from './io.ts'
import { buildProgram, runProgram } from './program.ts'
import { renderCliReference } from './reference.ts'
import { pairs, table } from './table.ts'

function memory(env: Record<string, string> = {}): Cli & { out(): string; err(): string } {
  const text = { out: '', err: '' }
  return {
    env,
    cwd: '/nowhere',
    io: {
      out: (more) => {
        text.out += more
      },
      err: (more) => {
        text.err += more
      },
      isRead: true,
      read: async () => '',
    },
    out: () => text.out,
    err: () => text.err,
  }
}

/** A program whose commands are understood and not done. */
function understanding(calls: Call[]): Command {
  const shell: Shell = {
    cli: memory(),
    execute: async (call) => {
      calls.push(call)
    },
    onLoaded: () => {},
    writeHelp: () => {},
  }
  return buildProgram(shell)
}

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)

function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()]
}

const leaves = leavesOf(understanding([])).filter((command) => wordsOf(command) !== undefined)

test('every command is there and its help shows an example', async () => {
  const names = leaves.map((command) => pathOf(command).join(' '))
  for (const expected of [
    ...['serve', 'setup', 'workspaces create', 'workspaces list', 'environments create', 'environments set'],
    ...['environments list', 'users invite', 'users list', 'users reset', 'keys create', 'keys list', 'keys revoke'],
    ...[
      'agents list',
      'agents run',
      'agents send',
      'agents stop',
      'agents sessions',
      'agents transcript',
      'agents policy',
    ],
    ...['models list', 'models set', 'models test', 'models remove', 'mcp list', 'mcp set', 'mcp remove'],
    ...['features list', 'features set', 'audit verify', 'audit export', 'secrets rotate', 'config', 'doctor'],
  ]) {
    assert.ok(names.includes(expected), expected)
  }
  for (const command of leaves) {
    const path = pathOf(command)
    const cli = memory()
    assert.equal(await runProgram([...path, '--help'], cli), 0)
    assert.match(cli.out(), new RegExp(`Example:\\n  \\$ yardmaster ${path.join(' ')}`), path.join(' '))
    for (const option of ['--data', '--config', '--json']) assert.match(cli.out(), new RegExp(option), path.join(' '))
  }
  for (const noun of ['keys', 'environments', 'audit']) {
    const cli = memory()
    assert.equal(await runProgram([noun, '--help'], cli), 0)
    assert.match(cli.out(), /Example:\n {2}\$ yardmaster/)
  }
})

test('every example is understood as it stands', async () => {
  for (const command of leaves) {
    const path = pathOf(command)
    for (const example of wordsOf(command)!.examples) {
      const calls: Call[] = []
      const [program, ...argv] = wordsIn(example.replace(/ <.*/, ''))
      assert.equal(program, 'yardmaster')
      await understanding(calls).parseAsync(argv, { from: 'user' })
      assert.equal(calls.length, 1, example)
    }
    assert.ok(wordsOf(command)!.examples.some((one) => one.startsWith(`yardmaster ${path.join(' ')}`)))
  }
})

const wordsIn = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '')

test('options that every command has may stand before and after it', async () => {
  for (const argv of [
    ['--json', '--data', 'here', 'keys', 'list'],
    ['keys', '--data', 'here', 'list', '--json'],
    ['keys', 'list', '--json', '--data=here'],
  ]) {
    const calls: Call[] = []
    await understanding(calls).parseAsync(argv, { from: 'user' })
    assert.equal(calls[0]!.json, true)
    assert.equal((calls[0]!.options as { data?: string }).data, 'here')
  }
})

test('several values of an option are written apart, with commas, or by repeating it', async () => {
  for (const values of [
    ['--capability', 'users:read', 'audit:read'],
    ['--capability', 'users:read,audit:read'],
    ['--capability', 'users:read', '--capability', 'audit:read'],
  ]) {
    const calls: Call[] = []
    await understanding(calls).parseAsync(['keys', 'create', '--kind', 'account', ...values, '--json'], {
      from: 'user',
    })
    assert.deepEqual((calls[0]!.options as { capability?: string[] }).capability, ['users:read', 'audit:read'])
  }
})

test('what is not understood ends with 2, a hint and nothing on standard output', async () => {
  const wrong: [string[], RegExp][] = [
    [['kesy'], /unknown command 'kesy'\n\(Did you mean keys\?\)\nRun yardmaster --help/],
    [['keys', 'creat'], /unknown command 'creat'\n\(Did you mean create\?\)\nRun yardmaster keys --help/],
    [['keys', 'list', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)\nRun yardmaster keys list --help/],
    [['keys', 'create', '--kind', 'personal'], /Allowed choices are account, workspace, pair/],
    [['keys', 'create', '--kind', 'account', '--expires-days', '0'], /whole number from 1 to 3650/],
    [['keys', 'create'], /required option '--kind <kind>' not specified/],
    [['keys', 'revoke', 'three'], /whole number/],
    [['keys', 'revoke'], /missing required argument 'id'/],
    [['users', 'invite', 'ben@example.com', '--type', 'KING'], /Allowed are ADMIN, DEVELOPER/],
    [['features', 'set', 'scheduling', 'maybe'], /Allowed choices are on, off/],
    [['environments', 'set', 'x', '--variable', 'novalue'], /Write NAME=VALUE/],
    [['workspaces', 'list', 'more'], /too many arguments/],
    [['keys'], /Usage: yardmaster keys/],
    [[], /Usage: yardmaster/],
  ]
  for (const [argv, message] of wrong) {
    const cli = memory()
    assert.equal(await runProgram(argv, cli), 2, argv.join(' '))
    assert.match(cli.err(), message)
    assert.equal(cli.out(), '')
  }
})

test('with --json every complaint is one JSON object with a code and a message', async () => {
  for (const [argv, code] of [
    [['kesy', '--json'], 'USAGE'],
    [['keys', '--json'], 'USAGE'],
    [['config', '--json', '--config', 'missing.yaml'], 'CONFIGURATION'],
  ] as const) {
    const cli = memory()
    assert.equal(await runProgram(argv, cli), code === 'USAGE' ? 2 : 1)
    const said = JSON.parse(cli.err()) as { error: { code: string; message: string } }
    assert.deepEqual(Object.keys(said), ['error'])
    assert.deepEqual(Object.keys(said.error), ['code', 'message'])
    assert.equal(said.error.code, code)
  }
})

test('a fault of the configuration ends with 1 and the list; a stack is shown at debug level only', async () => {
  const plain = memory({ YARDMASTER_PORT: 'high', YARDMASTER_ROLES: 'cook' })
  assert.equal(await runProgram(['config'], plain), 1)
  assert.match(plain.err(), /^yardmaster: The configuration has 2 faults:\n {2}- port: .*\n {2}- roles: /)
  assert.doesNotMatch(plain.err(), /\n {4}at /)
  const debug = memory({ YARDMASTER_PORT: 'high', YARDMASTER_LOG_LEVEL: 'debug' })
  assert.equal(await runProgram(['config'], debug), 1)
  assert.match(debug.err(), /\n {4}at /)
})

test('config shows what is in force, where it came from, and no secret', async () => {
  const secret = 'postgres://yard:hunter2hunter2@db.example.com/yard'
  const env = { DATABASE_URL: secret, YARDMASTER_PORT: '8080' }
  const cli = memory(env)
  assert.equal(await runProgram(['config'], cli), 0)
  assert.match(cli.out(), /^SETTING +VALUE +FROM\n/)
  assert.match(cli.out(), /\nport +8080 +YARDMASTER_PORT\n/)
  assert.match(cli.out(), /\ndatabase\.url +\[secret\] +DATABASE_URL\n/)
  assert.doesNotMatch(cli.out(), /hunter2/)
  const json = memory(env)
  assert.equal(await runProgram(['config', '--json', '--data', 'elsewhere'], json), 0)
  const rows = JSON.parse(json.out()) as { path: string; value: unknown; source: string }[]
  const data = rows.find(({ path }) => path === 'data')
  assert.deepEqual([data?.value, data?.source], ['/nowhere/elsewhere', '--data'])
})

test('errors become a code and a sentence, also those without a message of their own', () => {
  assert.deepEqual(failureOf(new AppError('CONFLICT', 'No.')), { code: 'CONFLICT', message: 'No.' })
  assert.deepEqual(failureOf(new Error('broken')), { code: 'FAILED', message: 'broken' })
  assert.deepEqual(failureOf('text'), { code: 'FAILED', message: 'text' })
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1:5432'), { code: 'ECONNREFUSED' })
  const both = Object.assign(new AggregateError([refused, refused], ''), { code: 'ECONNREFUSED' })
  const { code, message } = failureOf(both)
  assert.equal(code, 'UNAVAILABLE')
  assert.match(message, /^The database cannot be reached: connect ECONNREFUSED ::1:5432; .*DATABASE_URL/)
})

test('columns stand under one another, and no cell can speak to a terminal', () => {
  assert.equal(
    table(
      ['ID', 'NAME'],
      [
        [10, 'a\x1b[31mred'],
        [1, null],
      ],
    ),
    'ID  NAME\n10  a?[31mred\n1   -\n',
  )
  assert.equal(pairs([['Long name', 1] as const, ['On', true] as const]), 'Long name  1\nOn         yes\n')
})

test('the reference holds every command and every option', () => {
  const text = renderCliReference()
  for (const command of leaves) {
    assert.ok(text.includes(`## ${pathOf(command).join(' ')}\n`))
    for (const { flags } of command.options) assert.ok(text.includes(`\`${flags}\``), flags)
  }
})
