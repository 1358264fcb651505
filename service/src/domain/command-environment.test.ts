import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandEnvironment, DEFAULT_ALLOW_LIST, type ServiceVariables } from './command-environment.ts'

const service: ServiceVariables = {
  commandKind: 'user',
  runId: 42,
  commandId: 101,
  attempt: 1,
  scheduleSlug: 'nightly-abc123',
  scheduleName: 'Nightly',
  workspaceUid: 'w1',
  branch: 'main',
  commit: 'c0ffee',
  prNumber: null,
  actor: 'schedule',
  reason: '',
  resourcesDirectory: '/runs/42/resources',
  deferStateDir: null,
  schemaPrefix: null,
  pathPrefix: [],
  further: {},
}

const make = (fields: Partial<Parameters<typeof commandEnvironment>[0]> = {}) =>
  commandEnvironment({
    worker: {},
    allowList: DEFAULT_ALLOW_LIST,
    workspace: {},
    environment: {},
    schedule: {},
    service,
    ...fields,
  })

test('with nothing from anybody a command has a path and what the service sets', () => {
  assert.deepEqual(make(), {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    YARDMASTER_RUN_ID: '42',
    YARDMASTER_COMMAND_ID: '101',
    YARDMASTER_ATTEMPT: '1',
    YARDMASTER_SCHEDULE_SLUG: 'nightly-abc123',
    YARDMASTER_SCHEDULE_NAME: 'Nightly',
    YARDMASTER_WORKSPACE_UID: 'w1',
    YARDMASTER_BRANCH: 'main',
    YARDMASTER_COMMIT: 'c0ffee',
    YARDMASTER_PR_NUMBER: '',
    YARDMASTER_ACTOR: 'schedule',
    YARDMASTER_REASON: '',
    YARDMASTER_RESOURCES_DIRECTORY: '/runs/42/resources',
    YARDMASTER_DEFER_STATE_DIR: '',
    YARDMASTER_SCHEMA_PREFIX: '',
    PARADIME_SCHEDULE_NAME: 'Nightly',
    PARADIME_RESOURCES_DIRECTORY: '/runs/42/resources',
  })
})

test('of the worker only what the list names comes through, with patterns', () => {
  const worker = {
    PATH: '/opt/bin',
    LC_ALL: 'C.UTF-8',
    AWS_SECRET_ACCESS_KEY: 'no',
    YARDMASTER_MASTER_KEY: 'no',
    DATABASE_URL: 'no',
    LD_PRELOAD: 'no',
    UNSET: undefined,
    CORP_A: 'a',
  }
  const made = make({ worker, allowList: [...DEFAULT_ALLOW_LIST, 'CORP_*', 'UNSET'] })
  assert.deepEqual(
    Object.keys(made).filter((name) => !/^(YARDMASTER|PARADIME)_/.test(name)),
    ['PATH', 'LC_ALL', 'CORP_A'],
  )
})

test('a pattern never lets the own names of the service or a name that steers a program through', () => {
  const worker = {
    YARDMASTER_MASTER_KEY: 'no',
    DATABASE_URL: 'no',
    LD_PRELOAD: 'no',
    GIT_SSH_COMMAND: 'no',
    LD_LIBRARY_PATH: '/o',
  }
  const made = make({ worker, allowList: ['*', 'YARDMASTER_MASTER_KEY', 'LD_LIBRARY_PATH'] })
  assert.deepEqual(
    Object.values(made).filter((value) => value === 'no'),
    [],
  )
  assert.equal(made.LD_LIBRARY_PATH, '/o', 'an operator may name one in full')
})

test('workspace, environment and schedule override one another in this order', () => {
  const made = make({
    worker: { TZ: '0' },
    workspace: { TZ: '1', A: '1', B: '1', C: '1' },
    environment: { B: '2', C: '2' },
    schedule: { C: '3' },
  })
  assert.deepEqual([made.TZ, made.A, made.B, made.C], ['1', '1', '2', '3'])
})

test('what the service sets cannot be overridden by any layer', () => {
  const claims = {
    YARDMASTER_RUN_ID: '7',
    YARDMASTER_ANYTHING: '7',
    PARADIME_SCHEDULE_NAME: '7',
    PARADIME_RESOURCES_DIRECTORY: '7',
    VIRTUAL_ENV: '7',
    DBT_PROFILES_DIR: '7',
  }
  const made = make({
    workspace: claims,
    environment: claims,
    schedule: claims,
    service: { ...service, further: { VIRTUAL_ENV: '/v', DBT_PROFILES_DIR: '/p', YARDMASTER_FILE_KEY: '/p/key' } },
  })
  assert.ok(!Object.values(made).includes('7'))
  assert.equal(made.YARDMASTER_FILE_KEY, '/p/key')
})

test('names that steer the loader, a shell, git or Node never come from users', () => {
  const names =
    'LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS GIT_SSH_COMMAND GIT_DIR GIT_CONFIG_COUNT BASH_ENV ENV IFS SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 GLIBC_TUNABLES GCONV_PATH'
  const hostile = Object.fromEntries([
    ...names.split(' ').map((name) => [name, 'bad']),
    ['BASH_FUNC_ls%%', 'bad'],
    ['A=B', 'bad'],
    ['', 'bad'],
  ])
  for (const layer of ['workspace', 'environment', 'schedule']) {
    assert.ok(!Object.values(make({ [layer]: hostile })).includes('bad'), layer)
  }
})

test('a job may be given a DATABASE_URL of its own', () => {
  const made = make({ worker: { DATABASE_URL: 'ours' }, allowList: ['*'], environment: { DATABASE_URL: 'theirs' } })
  assert.equal(made.DATABASE_URL, 'theirs')
})

test('the prefix comes first in PATH, and infrastructure commands do not take a PATH from users', () => {
  const fields = { worker: { PATH: '/usr/bin' }, schedule: { PATH: '/mine' } }
  const pathPrefix = ['/venv/bin']
  assert.equal(make({ ...fields, service: { ...service, pathPrefix } }).PATH, '/venv/bin:/mine')
  const infrastructure = { ...service, pathPrefix, commandKind: 'infrastructure' as const }
  assert.equal(make({ ...fields, service: infrastructure }).PATH, '/venv/bin:/usr/bin')
})

test('a variable called __proto__ is a variable', () => {
  const schedule = JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, string>
  const made = make({ schedule })
  assert.deepEqual(
    Object.entries(made).filter(([name]) => name === '__proto__' || name === 'constructor'),
    [
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ],
  )
})
