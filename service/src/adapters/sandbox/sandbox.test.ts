// What a command of an agent cannot do, in every sandbox that this machine offers. Each test plants something that must
// not be reached and asks for it in the way that somebody would who wants it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { findEngine } from '../../../test/support/container-engine.ts'
import { couldNotRun } from '../../../test/support/could-not-run.ts'
import { freshFolder, processesWith, uniqueNumber } from '../../../test/support/executor.ts'
import type { AgentSandbox, SandboxCommand, SandboxResult } from '../../ports/agent-sandbox.ts'
import { type ProbedSandbox, probeSandbox, type SandboxKind } from './probe.ts'

const MIB = 1024 * 1024
const SECRET = `canary-${randomBytes(8).toString('hex')}`
const engine = findEngine()
/** Where it is not installed, a copy can be named. */
const bubblewrap = process.env.YARDMASTER_TEST_BUBBLEWRAP

const probe = (wanted: SandboxKind, hidden: readonly string[] = []): Promise<ProbedSandbox> =>
  probeSandbox({
    wanted,
    hidden,
    outgoing: { allow: [] },
    limits: {
      ...{ memoryBytes: 512 * MIB, processes: 64, fileBytes: 8 * MIB },
      disk: { mostBytes: 512 * MIB, floorBytes: 64 * MIB },
    },
    container: engine.options,
    ...(bubblewrap !== undefined && { bubblewrap }),
  })

for (const kind of ['bubblewrap', 'namespaces', 'container'] as const) {
  const probed = await probe(kind)
  if (probed.sandbox === null) {
    couldNotRun(
      `commands of agents in ${kind}`,
      kind === 'container' && engine.options === null ? engine.why : probed.why,
    )
    continue
  }
  describe(kind, () => canaries(probed.sandbox!, kind))
  after(() => probed.close())
}
after(async () => {
  if (engine.options !== null) await engine[Symbol.asyncDispose]()
})

function canaries(sandbox: AgentSandbox, kind: SandboxKind): void {
  const place = freshFolder()
  const [folder, gitFolder, other] = ['tree', 'git', 'other'].map((name) => join(place.path, name)) as [
    string,
    string,
    string,
  ]
  const run = (text: string, more: Partial<SandboxCommand> = {}, signal = new AbortController().signal) =>
    sandbox.run(
      {
        text,
        folder,
        readOnly: [gitFolder],
        environment: {},
        seconds: 60,
        outputBytes: 200_000,
        egressHosts: [],
        ...more,
      },
      signal,
    )
  const succeeds = async (text: string, more: Partial<SandboxCommand> = {}): Promise<SandboxResult> => {
    const done = await run(text, more)
    assert.equal(done.code, 0, done.output)
    assert.ok(!done.output.includes(SECRET), 'the secret is in the output')
    return done
  }

  before(() => {
    for (const one of [folder, gitFolder, other]) mkdirSync(one)
    for (const one of [gitFolder, other]) writeFileSync(join(one, 'config'), one === other ? SECRET : 'settings\n')
    process.env.YARDMASTER_CANARY = SECRET
  })
  after(() => {
    delete process.env.YARDMASTER_CANARY
    place[Symbol.dispose]()
  })

  test('the checkout can be written, and what is written is there afterwards', async () => {
    const done = await succeeds('mkdir -p a/b && echo one > a/b/file && chmod 755 a/b/file && pwd; echo two >&2')
    assert.equal(done.output, `${folder}\ntwo\n`)
    assert.equal(readFileSync(join(folder, 'a/b/file'), 'utf8'), 'one\n')
  })

  test('its environment is what it was given, also that of every process it can see', async () => {
    assert.ok(spawnSync('env').stdout.includes(SECRET), 'a child of ours would have it')
    const done = await succeeds('env; for one in /proc/[0-9]*/environ; do tr "\\0" "\\n" <"$one" 2>/dev/null; done', {
      environment: { GIVEN: 'yes' },
    })
    assert.match(done.output, /^GIVEN=yes$/m)
    const names = new Set([...done.output.matchAll(/^([A-Za-z_]\w*)=/gm)].map((match) => match[1]))
    const usual = [
      'GIVEN',
      'HOME',
      'HOSTNAME',
      'LANG',
      'OLDPWD',
      'PATH',
      'PWD',
      'SHLVL',
      'TERM',
      'TMPDIR',
      'YM_SHELL',
      '_',
      'container',
    ]
    assert.deepEqual(
      [...names].filter((name) => !usual.includes(name!)),
      [],
    )
  })

  test('folders of the service and of other sessions are not there', async () => {
    const done = await succeeds(
      `ls -a '${place.path}' '${place.path}/..'; cat '${other}/config' '${other}'/*; grep -rs canary- /tmp /home /var /opt /root /srv /mnt; true`,
    )
    assert.doesNotMatch(done.output, /\bother\n/)
    if (kind === 'container') return
    const paths = '/root /var/lib /run /sys /boot /etc/shadow /etc/hosts /dev/sda /dev/mem /dev/kvm'
    const seen = await run(`for one in ${paths}; do test -e $one && echo "there is $one"; done; true`)
    assert.equal(seen.output, '')
  })

  test('the process of the service is not there: no environment, no memory, no signal, no trace', async () => {
    const { pid } = process
    const lines = [
      `cat /proc/${pid}/environ /proc/${pid}/cmdline /proc/${pid}/maps 2>&1 | tr '\\0' ' '`,
      `kill -0 ${pid} 2>/dev/null && ps -p ${pid} -o args= 2>/dev/null`,
      'for one in /proc/[0-9]*; do echo "process $one"; done',
      `! command -v python3 >/dev/null || python3 -c 'import ctypes; print("traced", ctypes.CDLL(None).ptrace(16, ${pid}, 0, 0))'`,
    ]
    const done = await run(lines.join('\n'))
    assert.ok(!done.output.includes(SECRET) && !done.output.includes('test'), done.output)
    assert.ok((done.output.match(/^process /gm) ?? []).length < 10, 'only its own')
    assert.doesNotMatch(done.output, /traced 0/)
  })

  test('there is no network: not this machine, not the metadata of a cloud, not a name', async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end(SECRET)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const abstract = createSocketServer((socket) => socket.end(SECRET))
    const name = `\0yardmaster-${uniqueNumber()}`
    await new Promise<void>((resolve) => abstract.listen(name, resolve))
    try {
      const { port } = server.address() as AddressInfo
      const ask = (host: string, on: number) =>
        `(exec 3<>/dev/tcp/${host}/${on} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3) 2>/dev/null && echo reached ${host}`
      const hosts = ['127.0.0.1', 'localhost', '0.0.0.0', '10.0.0.1', '192.168.0.1', '172.17.0.1']
      const lines = [
        ...hosts.map((host) => ask(host, port)),
        ...['169.254.169.254', '1.1.1.1', 'example.com'].map((host) => ask(host, 80)),
        `! command -v python3 >/dev/null || python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("\\0${name.slice(1)}"); print("reached", s.recv(100))' 2>/dev/null`,
        'true',
      ]
      const done = await succeeds(lines.join('\n'))
      assert.doesNotMatch(done.output, /reached/)
      assert.deepEqual(asked, [])
    } finally {
      server.close()
      abstract.close()
    }
  })

  test('nothing else can be written: not the git folder, not the system, not its own root', async () => {
    // Those of a container are its own, in memory.
    const own = kind === 'container' ? [] : ['/dev', '/home', '/var']
    const targets = [gitFolder, '/', '/usr', '/usr/bin', '/etc', '/proc/sys/kernel', ...own]
    const lines = targets.map((path) => `(: > '${path}/written') 2>/dev/null && echo written ${path}`)
    const more = [
      `(echo x > '${gitFolder}/config') 2>/dev/null && echo written config`,
      `rm -f '${gitFolder}/config'; mv '${gitFolder}' '${gitFolder}.gone'; ln -s /etc '${folder}/out'; cat '${gitFolder}/config'`,
      '(echo /tmp/x > /proc/sys/kernel/core_pattern) 2>/dev/null && echo written core_pattern',
      '(echo c > /proc/sysrq-trigger) 2>/dev/null && echo written sysrq',
      'echo temporary > /tmp/file && echo home > "$HOME/file" && cat /tmp/file "$HOME/file"',
    ]
    const done = await run([...lines, ...more].join('\n'))
    assert.doesNotMatch(done.output, /^written/m)
    assert.match(done.output, /^settings$/m, 'it can be read')
    assert.match(done.output, /^temporary\nhome$/m)
    assert.equal(readFileSync(join(gitFolder, 'config'), 'utf8'), 'settings\n')
    await run(`: > '${place.path}/written'`)
    assert.ok(!existsSync(join(place.path, 'written')), 'what is above the checkout is not that of the host')
    const later = await run('ls -A /tmp "$HOME"')
    assert.doesNotMatch(later.output, /file/, 'the next command finds nothing of this one')
  })

  test('it has no rights, and none that it takes in a namespace of its own undo what is closed', async () => {
    const done = await run(
      [
        'grep -e Cap -e NoNewPrivs /proc/self/status; id -u',
        `unshare --user --map-root-user --mount sh -c 'mount -o remount,rw,bind "${gitFolder}" && echo undone; umount "${gitFolder}" && echo undone; mount -o remount,rw / && echo undone; (: > "${gitFolder}/written") && echo undone' 2>&1`,
        'unshare --user --map-root-user --net sh -c "exec 3<>/dev/tcp/1.1.1.1/53" && echo undone',
        'true',
      ].join('\n'),
    )
    assert.match(done.output, /CapEff:\s+0+\n/)
    assert.match(done.output, /NoNewPrivs:\s+1\n/)
    assert.doesNotMatch(done.output, /undone/)
    if (kind !== 'container') assert.doesNotMatch(done.output, /^0$/m, 'it is root')
    assert.ok(!existsSync(join(gitFolder, 'written')))
  })

  test('nothing of it outlives it: not in the background, not in a session of its own', async () => {
    const number = uniqueNumber()
    await succeeds(
      `sleep ${number} & setsid sleep ${number} & (setsid nohup sh -c 'sleep ${number}; :' >/dev/null 2>&1 &); echo started`,
    )
    assert.deepEqual(processesWith(number), [])
  })

  test('it ends with its time, and when it is stopped', async () => {
    const number = uniqueNumber()
    const stubborn = `trap '' INT TERM HUP; echo up; while :; do sleep ${number}; done`
    const late = await run(stubborn, { seconds: 1 })
    assert.deepEqual([late.code, late.timedOut, late.output], [null, true, 'up\n'])
    const controller = new AbortController()
    const going = run(`${stubborn} & touch begun; wait`, {}, controller.signal)
    while (!existsSync(join(folder, 'begun'))) await new Promise((resolve) => setTimeout(resolve, 10))
    controller.abort()
    const stopped = await going
    assert.deepEqual([stopped.code, stopped.timedOut], [null, false])
    assert.deepEqual(processesWith(number), [])
  })

  test('a fork bomb ends within its limits, and the service goes on', async (t) => {
    const number = uniqueNumber()
    const done = await run(`bomb() { sleep ${number} & bomb | bomb & }; bomb 2>/dev/null; sleep 2; exit 3`, {
      seconds: 10,
    })
    t.diagnostic(`ended with ${done.code}`)
    assert.deepEqual(processesWith(number), [])
    assert.equal((await run('echo still here')).output, 'still here\n')
  })

  test('more output than is wanted is left out and said, and a flood ends the command', async () => {
    const long = await run('echo begin; seq 1 100000; echo end', { outputBytes: 1000 })
    assert.equal(long.code, 0)
    assert.ok(long.output.length < 1100 && long.output.startsWith('begin\n') && long.output.endsWith('end\n'))
    assert.ok(long.dropped > 500_000)
    assert.match(long.output, /\[\d+ bytes were left out here\]/)
    const flood = await run('cat /dev/zero', { seconds: 60, outputBytes: 1000 })
    assert.equal(flood.code, null)
    assert.equal(flood.timedOut, false)
    assert.match(flood.output, /stopped: it wrote more than 64 MiB/)
  })

  test('a file, and memory, have a limit', async () => {
    const done = await run('head -c 20000000 /dev/zero > large; echo "ended with $?"; wc -c < large')
    assert.doesNotMatch(done.output, /ended with 0/)
    assert.doesNotMatch(done.output, /^20000000$/m)
    const greedy = await run(`x=$(head -c 900000000 /dev/zero | tr "\\0" x); echo "\${#x}"`, { seconds: 30 })
    assert.doesNotMatch(greedy.output, /900000000/)
  })

  test('a command that fills the disk with many files is stopped', async () => {
    const done = await run(
      'mkdir many; at=0; while :; do head -c 8000000 /dev/zero > many/$at || exit 9; at=$((at + 1)); done',
      {
        seconds: 120,
      },
    )
    assert.equal(done.code, null)
    assert.match(done.output, /\[stopped: it filled the disk\]/)
    rmSync(join(folder, 'many'), { recursive: true })
  })

  test('a text of any length and content is run as it is', async () => {
    const words = `it's "$HOME" \`x\` $(echo y) \\ ü\n`
    const done = await succeeds(`cat <<'END'\n${words}END\n: ${'#'.repeat(150_000)}`)
    assert.equal(done.output, words)
    assert.equal((await run('exit 42')).code, 42)
    assert.equal((await run('no-such-program')).code, 127)
  })

  test('nothing of ours is left in the checkout', () => {
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('.')),
      [],
    )
  })
}

test('a host that can make namespaces has a sandbox: one that its probe refuses is a fault of ours', async () => {
  const mapped = process.getuid?.() === 0 ? [] : ['--map-current-user']
  const made = spawnSync('unshare', [...mapped, '--mount', '--net', '--pid', '--fork', '--mount-proc', 'true'])
  if (made.status !== 0) return couldNotRun('namespaces for commands of agents', String(made.stderr ?? made.error))
  const probed = await probe('namespaces')
  assert.equal(probed.sandbox?.kind, 'namespaces', probed.why)
  probed.close()
})

test('what is hidden stays hidden inside of a folder of the system', async (t) => {
  for (const kind of ['bubblewrap', 'namespaces'] as const) {
    const probed = await probe(kind, ['/usr/share', '/usr/include', '/etc/passwd'])
    if (probed.sandbox === null) {
      t.diagnostic(`not in ${kind}`)
      continue
    }
    using place = freshFolder()
    const done = await probed.sandbox.run(
      {
        text: 'ls -A /usr/share; cat /etc/passwd; (: > /usr/share/x) 2>/dev/null && echo written; ls -d /usr/bin',
        folder: place.path,
        ...{ readOnly: [], environment: {}, seconds: 30, outputBytes: 10_000, egressHosts: [] },
      },
      new AbortController().signal,
    )
    assert.doesNotMatch(done.output, /root:|written|doc|locale/)
    assert.match(done.output, /\/usr\/bin\n$/)
    probed.close()
  }
})

test('what is asked for and does not work gives none, and says why; nothing else takes its place', async () => {
  const options = { hidden: [], outgoing: { allow: [] }, container: null, bubblewrap: null }
  const missing = await probeSandbox({ ...options, wanted: 'bubblewrap' })
  assert.deepEqual([missing.sandbox, missing.why], [null, 'bubblewrap: it is not installed'])
  const broken = await probeSandbox({ ...options, wanted: 'bubblewrap', bubblewrap: '/bin/false' })
  assert.equal(broken.sandbox, null)
  const none = await probeSandbox({ ...options, wanted: 'container' })
  assert.deepEqual([none.sandbox, none.why], [null, 'container: no image is set'])
  assert.deepEqual((await probeSandbox({ ...options, wanted: 'none' })).sandbox, null)
  // A program that runs the command without any of it is found out.
  using place = freshFolder()
  const liar = join(place.path, 'bwrap')
  writeFileSync(liar, '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n', { mode: 0o755 })
  const lied = await probeSandbox({ ...options, wanted: 'bubblewrap', bubblewrap: liar })
  assert.equal(lied.sandbox, null)
  assert.match(lied.why, /^bubblewrap: /)
})
