// What a command of a run can read, write and reach of its host: a real service, real runs, and a hostile job that tries
// everything it can think of. Canaries stand wherever it must not look.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { probeIsolation } from '../service/src/adapters/executor/process.ts'
import { couldNotRun } from '../service/test/support/could-not-run.ts'
import { type Client, clientOf, makeRepository, type Repository } from './support/runs.ts'
import { type ServiceProcess, startProcess, temporaryFolder } from './support/service.ts'

const CANARY = 'canary-5b1f'
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const isRoot = process.getuid?.() === 0
const level = await probeIsolation()

interface Yard {
  readonly service: ServiceProcess
  readonly client: Client
  readonly environment: string
}

/** As whom commands run: nobody where the service is root, or the service itself. */
const USERS = isRoot ? (['auto', 'service'] as const) : (['auto'] as const)
const yards = new Map<string, Yard>()
let repository: Repository
let place: string
let engine: Server
let calls = 0

before(async () => {
  place = await temporaryFolder('isolation')
  const home = join(place, 'home')
  for (const folder of ['.ssh', '.aws', '.dbt', '.docker']) mkdirSync(join(home, folder), { recursive: true })
  for (const name of ['.ssh/id_ed25519', '.aws/credentials', '.dbt/profiles.yml', '.docker/config.json', '.netrc'])
    writeFileSync(join(home, name), `${CANARY} of ${name}\n`)
  writeFileSync(join(place, 'token'), `${CANARY}-metrics-token\n`, { mode: 0o600 })
  engine = createServer((socket) => {
    calls++
    socket.end(CANARY)
  })
  await new Promise<void>((resolve) => engine.listen(join(place, 'engine.sock'), resolve))
  repository = await makeRepository({ 'README.md': 'x\n' })
  await Promise.all(USERS.map(async (user) => yards.set(user, await begin(user))))
})
after(async () => {
  await Promise.all([...yards.values()].map(({ service }) => service.stop()))
  engine?.close()
})

async function begin(user: string): Promise<Yard> {
  const files = join(place, `files-${user}`)
  mkdirSync(files)
  writeFileSync(join(files, 'kept'), CANARY)
  const service = await startProcess({
    env: {
      PATH: SYSTEM_PATH,
      HOME: join(place, 'home'),
      YARDMASTER_COMMANDS_USER: user,
      YARDMASTER_BLOBS_FOLDER: files,
      YARDMASTER_METRICS_TOKEN_FILE: join(place, 'token'),
      DOCKER_HOST: `unix://${join(place, 'engine.sock')}`,
      SSH_AUTH_SOCK: join(place, 'engine.sock'),
      SERVER_ONLY: `${CANARY}-of-the-server`,
      AWS_SECRET_ACCESS_KEY: `${CANARY}-of-the-server`,
    },
  })
  mkdirSync(join(service.dataFolder, 'cache', 'another-workspace'), { recursive: true })
  writeFileSync(join(service.dataFolder, 'cache', 'another-workspace', 'kept'), CANARY)
  const client = clientOf(service)
  return { service, client, environment: await client.environment(repository) }
}

/** Runs the commands; gives what the last one said, both streams. */
async function said(yard: Yard, commands: readonly string[], more: Record<string, unknown> = {}): Promise<string> {
  const { client, environment } = yard
  const slug = await client.schedule(environment, commands, more)
  const status = await client.ended(await client.trigger(slug))
  const { stdout, stderr } = status.commands.at(-1)
  return `${stdout}${stderr}`
}

/** Each is a line of shell that would like to print a canary. DATA, PLACE and PID are put in. */
const READS: readonly string[] = [
  'cat DATA/master.key | head -c 8 | sed "s/^./canary-5b1f &/"',
  'cat DATA/database-passwords.json | sed "s/^./canary-5b1f &/"',
  'ls DATA/postgres | sed "s/^/canary-5b1f /"',
  'find DATA -type f -not -path "*/work/$YARDMASTER_RUN_ID-*" -exec echo canary-5b1f {} +',
  'ls DATA/work | grep -v "^$YARDMASTER_RUN_ID-" | sed "s/^/canary-5b1f /"',
  'for d in DATA/work/*; do case $d in */$YARDMASTER_RUN_ID-*) ;; *) cat $d/secrets/* $d/home/* $d/tmp/*;; esac; done',
  'cat DATA/cache/another-workspace/kept',
  'ls DATA/mirrors | sed "s/^/canary-5b1f /"',
  'cat FILES/kept; ls FILES | sed "s/^/canary-5b1f /"',
  'cat PLACE/token',
  'cat PLACE/home/.ssh/id_ed25519 PLACE/home/.aws/credentials PLACE/home/.netrc',
  'cat PLACE/home/.dbt/profiles.yml PLACE/home/.docker/config.json',
  'grep -rsa canary-5b1f PLACE/home PLACE/token FILES',
  'cat ~/.ssh/* ~/.netrc; ls -a ~ | grep ssh',
  'cat /proc/*/environ | tr "\\0" "\\n" | grep -a canary-5b1f-of',
  'cat /proc/PID/environ /proc/PID/cmdline && echo canary-5b1f',
  'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; done | grep -a "[m]ain[.]ts\\|[p]ostgres:" | sed "s/^/canary-5b1f /"',
  'ls -l /proc/[0-9]*/fd 2>/dev/null | grep -a "DATA/\\(postgres\\|master\\|service\\)" | sed "s/^/canary-5b1f /"',
  'cat /proc/1/environ | tr "\\0" "\\n" | grep -a canary-5b1f-of',
  'for p in /proc/[0-9]*; do cat $p/root/DATA/master.key $p/cwd/../../../master.key && echo canary-5b1f; done',
  'head -c 1 /proc/1/mem && echo canary-5b1f',
  'head -c 1 /proc/PID/mem && echo canary-5b1f',
  'kill -0 PID && echo canary-5b1f',
  'kill -9 PID && echo canary-5b1f',
  'kill -STOP 1; kill -9 1; kill -0 1 2>/dev/null && test "$(readlink /proc/1/exe)" = "" || true',
  'unshare -Urm umount DATA && cat DATA/master.key && echo canary-5b1f',
  'unshare -Urm sh -c "umount -l DATA; cat DATA/cache/another-workspace/kept"',
  'umount DATA; umount -l DATA; cat DATA/cache/another-workspace/kept',
  'nsenter -t 1 -m cat DATA/cache/another-workspace/kept',
  'nsenter -t PID -a cat DATA/cache/another-workspace/kept',
  'chroot /proc/1/root cat DATA/cache/another-workspace/kept',
  'mkdir -p b && mount --bind DATA b && cat b/cache/another-workspace/kept',
  'mknod d b 8 0 && head -c 1 d && echo canary-5b1f',
  'ls -A PGSOCKET | sed "s/^/canary-5b1f /"',
  "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('PGSOCKET/.s.PGSQL.5432'); print('canary-5b1f')\"",
  'python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect(\'PLACE/engine.sock\'); print(s.recv(99))"',
  "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('/var/run/docker.sock'); print('canary-5b1f')\"",
  '(echo > /dev/tcp/127.0.0.1/5432) && echo canary-5b1f',
  'python3 -c "import ctypes; print(\'canary-5b1f\' if ctypes.CDLL(None).ptrace(16, PID, 0, 0) == 0 else 1)"',
  'cat /etc/shadow | head -1 | sed "s/^./canary-5b1f &/"',
  'grep -q "^CapEff:.*[1-9a-f]" /proc/self/status && echo canary-5b1f',
  'grep -q "^NoNewPrivs:.*0" /proc/self/status && echo canary-5b1f',
  'sudo -n true && echo canary-5b1f',
  'cat /proc/self/mountinfo | grep -a canary-5b1f',
  'ipcs -m | grep -c "^0x[0-9a-f]*[1-9a-f]" | grep -v "^0$" | sed "s/^/canary-5b1f /"',
  'ls -A /dev/shm | grep PostgreSQL | sed "s/^/canary-5b1f /"',
]

const WRITES: readonly string[] = [
  'echo bad > DATA/master.key',
  'echo bad > DATA/cache/another-workspace/kept',
  'rm -rf DATA/cache DATA/blobs DATA/mirrors DATA/work',
  'echo bad > FILES/kept',
  'echo bad > PLACE/token',
  'echo bad >> PLACE/home/.ssh/authorized_keys',
  'echo bad > "$YARDMASTER_RESOURCES_DIRECTORY/bad"',
  'echo bad > DATA/service.json',
  'mkdir -p DATA/mirrors/x',
]

const filled = (text: string, user: string, { service }: Yard): string =>
  text
    .replaceAll('DATA', service.dataFolder)
    .replaceAll('FILES', join(place, `files-${user}`))
    .replaceAll('PLACE', place)
    .replaceAll('PGSOCKET', socketFolder(service))
    .replaceAll('PID', String(service.pid))

/** As PostgreSQL's own file names it. */
const socketFolder = ({ dataFolder }: ServiceProcess): string =>
  readFileSync(join(dataFolder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[4]!

if (level === 'L0') couldNotRun('what a job can see of its host at L1', 'this host allows no namespaces')

for (const user of level === 'L1' ? USERS : []) {
  const whose = user === 'auto' && isRoot ? 'as nobody' : 'as the user of the service'

  test(`a hostile job finds nothing of the host, the service or another run, ${whose}`, async (t) => {
    const yard = yards.get(user)!
    const { client, environment } = yard
    // Another run with a secret of its own, at work at the same time.
    await client.ask(
      'mutation ($v: String!) { setSecret(environment: null, kind: FILE, name: "other.txt", value: $v) { ok } }',
      { v: `${CANARY}-of-another-run` },
    )
    const other = await client.trigger(
      await client.schedule(environment, [`echo ${CANARY} > ~/x; echo ${CANARY} > "$TMPDIR/x"; exec sleep 600`]),
    )
    await client.until(async () => {
      const query = 'query ($id: Int!) { boltRunStatus(runId: $id) { commands { startDttm } } }'
      const { commands } = await client.ask(query, { id: other })
      return commands.at(-1).startDttm !== ''
    })
    const script = READS.map(
      (line, at) => `( ${filled(line, user, yard)} ) > out 2>&1; grep -aq ${CANARY} out && echo "found ${at}"`,
    )
    const answer = await said(yard, [[...script, 'rm -f out', 'echo tried all'].join('\n')])
    assert.match(answer, /tried all/)
    const found = [...answer.matchAll(/^found (\d+)$/gm)].map((one) => READS[Number(one[1])])
    assert.deepEqual(found, [])
    assert.equal(calls, 0, "nobody spoke to the engine's socket")
    await client.ask('mutation ($id: Int!) { cancelBoltRun(scheduleRunId: $id) { ok } }', { id: other })
    assert.equal((await client.ended(other)).state, 'CANCELED')
    t.diagnostic(`${READS.length} ways to read or reach, 0 canaries`)
  })

  test(`a hostile job changes nothing outside of its own folders, ${whose}`, async (t) => {
    const yard = yards.get(user)!
    const { dataFolder } = yard.service
    const key = readFileSync(join(dataFolder, 'master.key'), 'utf8')
    await said(yard, ['echo first > a', [...WRITES.map((line) => filled(line, user, yard)), 'true'].join('\n')])
    assert.equal(readFileSync(join(dataFolder, 'master.key'), 'utf8'), key)
    assert.equal(readFileSync(join(dataFolder, 'cache', 'another-workspace', 'kept'), 'utf8'), CANARY)
    assert.equal(readFileSync(join(place, `files-${user}`, 'kept'), 'utf8'), CANARY)
    assert.equal(readFileSync(join(place, 'token'), 'utf8'), `${CANARY}-metrics-token\n`)
    assert.ok(!existsSync(join(place, 'home', '.ssh', 'authorized_keys')))
    assert.ok(!existsSync(join(dataFolder, 'mirrors', 'x')))
    assert.match(await said(yard, ['echo still here']), /still here/)
    t.diagnostic(`${WRITES.length} ways to write, nothing changed`)
  })
}

test('commands of a service that is root run as nobody, with their own folders to write', async (t) => {
  if (!isRoot || level === 'L0') return t.diagnostic('the service is not root here, or cannot hand its commands over')
  const yard = yards.get('auto')!
  const answer = await said(yard, [
    'mkdir -p out && echo one > out/file',
    'id -u; cat "$YARDMASTER_RESOURCES_DIRECTORY"/*/out/file; echo x > ~/x && echo x > "$TMPDIR/x" && echo written; git log --oneline | wc -l; echo bad >> /etc/passwd || echo refused',
  ])
  assert.match(answer, /^65534\none\nwritten\n1\n/)
  assert.match(answer, /refused/)
  assert.match(yard.service.stderr(), /"isolation":"L1"/)
  const { runs } = await yard.client.ask('{ boltRunPage(limit: 1) { runs { isolation } } }')
  assert.deepEqual(runs, [{ isolation: 'L1' }])
  assert.doesNotMatch(yard.service.stderr(), /so are its commands/)
  assert.match(yards.get('service')!.service.stderr(), /the service is root, and so are its commands/)
})

test('a command gets the names that it should, and no variable of the server', async (t) => {
  const answer = await said(yards.get('auto')!, ['env -0 | tr "\\n\\0" " \\n"'], {
    envVars: [{ key: 'OF_THE_SCHEDULE', value: 'yes' }],
  })
  const names = [...answer.matchAll(/^([A-Za-z_][A-Za-z0-9_]*)=/gm)].map((one) => one[1]!)
  const allowed =
    /^(YARDMASTER_(RUN_ID|COMMAND_ID|ATTEMPT|SCHEDULE_SLUG|SCHEDULE_NAME|WORKSPACE_UID|BRANCH|COMMIT|PR_NUMBER|ACTOR|REASON|RESOURCES_DIRECTORY|DEFER_STATE_DIR|SCHEMA_PREFIX|COMMAND_MARK|FILE_\w+)|PARADIME_(SCHEDULE_NAME|RESOURCES_DIRECTORY)|PATH|HOME|TMPDIR|LANG|PWD|OLDPWD|SHLVL|_|OF_THE_SCHEDULE)$/
  assert.deepEqual(
    names.filter((name) => !allowed.test(name)),
    [],
  )
  assert.ok(names.includes('OF_THE_SCHEDULE'))
  assert.doesNotMatch(answer, /canary-5b1f-of-the-server/)
  t.diagnostic(`${names.length} variables, 0 of the server's own`)
})

test('nobody can set what steers the loader, a shell, git or Node for a whole run', async (t) => {
  const steering = [
    ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'NODE_OPTIONS', 'BASH_ENV', 'ENV', 'IFS', 'PROMPT_COMMAND', 'SHELLOPTS'],
    ...['GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'GIT_DIR', 'GIT_EXEC_PATH', 'PYTHONSTARTUP', 'PERL5OPT', 'GCONV_PATH'],
    ...['YARDMASTER_RUN_ID', 'YARDMASTER_MASTER_KEY', 'PARADIME_SCHEDULE_NAME', 'BASH_FUNC_ls%%'],
  ]
  let refused = 0
  for (const key of steering) {
    const answer = await said(yards.get('auto')!, ['env -0 | tr "\\n\\0" " \\n"'], {
      envVars: [{ key, value: CANARY }],
    }).catch((error: Error) => {
      assert.match(error.message, /INVALID_INPUT/)
      refused++
      return ''
    })
    assert.ok(!answer.includes(CANARY), key)
  }
  // PATH is the user's for the user's commands, and not for the clone and the install.
  const answer = await said(yards.get('auto')!, ['echo "$PATH" | /usr/bin/rev'], {
    envVars: [{ key: 'PATH', value: '/nonexistent' }],
  })
  assert.match(answer, /^tnetsixenon\/$/m)
  t.diagnostic(`${steering.length} names, ${refused} refused at once, 0 reached a command`)
})

test('nothing of a run is left when it has ended, nor after a kill of the service', async () => {
  const yard = yards.get('auto')!
  await yard.client.ask(
    'mutation ($v: String!) { setSecret(environment: null, kind: FILE, name: "left.txt", value: $v) { ok } }',
    { v: `${CANARY}-in-a-file` },
  )
  const { dataFolder } = yard.service
  const work = join(dataFolder, 'work')
  assert.match(await said(yard, ['cat "$YARDMASTER_FILE_LEFT_TXT" | wc -c']), /^\d+\n$/)
  assert.deepEqual(readdirSync(work), [])
  const runId = await yard.client.trigger(await yard.client.schedule(yard.environment, ['echo up; exec sleep 600']))
  await yard.client.until(async () => existsSync(join(work, `${runId}-1`, 'secrets', 'left.txt')))
  await yard.service.kill9()
  const service = await startProcess({ dataFolder, env: { PATH: SYSTEM_PATH } })
  const client = clientOf(service)
  yards.set('auto', { ...yard, service, client })
  await client.until(async () => readdirSync(work).length === 0)
  assert.equal((await client.ended(runId)).state, 'FAILED')
})
