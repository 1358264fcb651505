import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type CommandLine, commandLine } from '../../test/support/command-line.ts'
import { type TestRepository, testRepository } from '../../test/support/repository.ts'

const entry = (name: string, more = ''): string =>
  `  - name: ${name}\n    schedule: "OFF"\n    environment: production\n    commands: [dbt build]\n${more.replace(/^(?=.)/gm, '    ')}`
const file = (...entries: string[]): string => `schedules:\n${entries.join('\n')}`

describe('a checkout alone', () => {
  let line: CommandLine

  before(() => {
    line = commandLine()
    mkdirSync(join(line.folder, 'checkout', '.bolt', 'deep'), { recursive: true })
  })
  after(() => line.remove())

  const write = (path: string, text: string): void => writeFileSync(join(line.folder, 'checkout', path), text)
  const validate = (...more: string[]) => line.here(['schedules', 'validate', join(line.folder, 'checkout'), ...more])

  test('is validated with nothing set up, its files merged', async () => {
    write('.bolt/deep/a.yaml', file(entry('one', 'run_after: {schedule: two}\n')))
    write('paradime_schedules.yml', file(entry('two', 'run_after: {schedule: far, workspace: Elsewhere}\n')))
    assert.deepEqual(await validate(), { code: 0, out: '2 files, 2 schedules, 0 faults.\n', err: '' })
  })

  test('says every fault with its file, line and column, and ends with 1', async () => {
    write('.bolt/deep/a.yaml', file(entry('two', 'comands: []\n')))
    write('.bolt/b.yml', file(entry('two', 'run_after: {schedule: unheard}\n')))
    const { code, out } = await validate()
    assert.equal(code, 1)
    assert.deepEqual(out.split('\n'), [
      '.bolt/b.yml:2:11: schedules[0].name: the slug "two" is also that of paradime_schedules.yml:2.',
      '.bolt/deep/a.yaml:6:5: schedules[0]: "comands" is not a key here. Did you mean commands?',
      'paradime_schedules.yml:2:11: schedules[0].name: the slug "two" is also that of .bolt/b.yml:2.',
      '3 files, 2 schedules, 3 faults.',
      '',
    ])
    const { faults } = JSON.parse((await validate('--json')).out)
    assert.deepEqual([faults[1].file, faults[1].line, faults[1].column], ['.bolt/deep/a.yaml', 6, 5])
  })

  test('a reference to what no file makes is a warning, a link is not followed, and one file can be named', async () => {
    write('paradime_schedules.yml', file(entry('one', 'run_after: {schedule: unheard}\n')))
    const one = await line.here(['schedules', 'validate', join(line.folder, 'checkout', 'paradime_schedules.yml')])
    assert.equal(one.code, 0)
    assert.match(one.out, /^paradime_schedules\.yml:6:27: warning: .*no active schedule "unheard"/)
    symlinkSync('/etc/hostname', join(line.folder, 'checkout', '.bolt', 'link.yml'))
    assert.match((await validate()).out, /\.bolt\/link\.yml: is a symbolic link, which is not followed\./)
  })

  test('a folder without such files, and one that is not there, are refused', async () => {
    const none = await line.here(['schedules', 'validate', line.folder])
    assert.equal(none.code, 1)
    assert.match(none.err, /No files with schedules in .* They are looked for in \.bolt\/, paradime_schedules\.yml/)
    assert.match((await line.here(['schedules', 'validate', '/nowhere/at/all'])).err, /There is no \/nowhere\/at\/all/)
  })
})

describe('a workspace with a repository', () => {
  let line: CommandLine
  let repository: TestRepository

  before(async () => {
    line = commandLine()
    repository = await testRepository({ '.bolt/a.yml': file(entry('one'), entry('two')) })
    await line.json(['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com'])
    await line.jsonHere(['environments', 'create', 'main', '--repository', repository.folder])
  })
  after(async () => {
    await repository[Symbol.asyncDispose]()
    line.remove()
  })

  test('is synced, planned against a checkout, and listed', async () => {
    const synced = await line.jsonHere<{ commit: string; changes: { action: string; slug: string }[] }>([
      'schedules',
      'sync',
    ])
    assert.deepEqual(
      synced.changes.map((one) => [one.action, one.slug]),
      [
        ['create', 'one'],
        ['create', 'two'],
      ],
    )
    const again = await line.here(['schedules', 'sync'])
    assert.deepEqual(
      [again.code, again.out],
      [0, `Nothing to do: the schedules stand at ${synced.commit.slice(0, 12)}.\n`],
    )

    writeFileSync(join(repository.folder, '.bolt/a.yml'), file(entry('one', 'sla_minutes: 5\n'), entry('three')))
    const plan = await line.here(['schedules', 'plan', repository.folder])
    assert.equal(plan.code, 0)
    assert.deepEqual(
      plan.out.split('\n').map((row) => row.split(/ {2,}/)),
      [
        ['ACTION', 'SLUG', 'FILE', 'WHAT CHANGES'],
        ['create', 'three', '.bolt/a.yml', '-'],
        ['change', 'one', '.bolt/a.yml', 'slaSeconds'],
        ['remove', 'two', '.bolt/a.yml', '-'],
        ['1 to create, 0 to restore, 1 to change, 1 to remove, 0 as they are.'],
        [''],
      ],
    )
    writeFileSync(join(repository.folder, '.bolt/a.yml'), file(entry('one').replace('production', 'staging')))
    const bad = await line.here(['schedules', 'plan', repository.folder])
    assert.equal(bad.code, 1)
    assert.match(bad.out, /^\.bolt\/a\.yml:4:18: .*no environment "staging" .* There are: main\.\n/)
    const listed = await line.jsonHere<{ slug: string; file: string }[]>(['schedules', 'list'])
    assert.deepEqual(
      listed.map((one) => [one.slug, one.file]),
      [
        ['one', '.bolt/a.yml'],
        ['two', '.bolt/a.yml'],
      ],
    )
    assert.deepEqual((await line.here(['schedules', 'export'])).out, 'version: 1\nschedules: []\n')
  })
})
