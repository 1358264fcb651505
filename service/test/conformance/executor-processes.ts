// What executors keep to that really run something: shells, signals, trees, limits and what a command may see.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Executor } from '../../src/ports/executor.ts'
import {
  begin,
  eventually,
  finish,
  freshFolder,
  NO_LIMITS,
  processesWith,
  SYSTEM_PATH,
  specOf,
  uniqueNumber,
} from '../support/executor.ts'
import type { ExecutorUnderTest } from './executor.ts'

/** Commands that do not want to end. Each says `up` when it is at its worst; NUMBER is theirs alone. */
export const NASTY: Readonly<Record<string, string>> = {
  'ignores SIGINT and SIGTERM': "trap '' INT TERM; echo up; while :; do sleep NUMBER; done",
  'left its session by a double fork': '(setsid sh -c "sleep NUMBER & sleep NUMBER" &); echo up; exec sleep NUMBER',
  'left its session and cleared its environment': '(env -i setsid sleep NUMBER &); echo up; exec sleep NUMBER',
  'forks without end': 'echo up; f() { sleep NUMBER & f & f & wait; }; f 2>/dev/null',
  'has stopped itself': 'echo up; sleep NUMBER & kill -STOP $$; wait',
  'has stopped all that it can reach': 'sleep NUMBER & echo up; kill -STOP 0; wait',
  'left a child that holds its output':
    "trap '' INT TERM; (setsid sleep NUMBER &); echo up; while :; do sleep NUMBER; done",
  'closed its output': 'echo up; exec >&- 2>&-; exec sleep NUMBER',
}

export function processConformance({ make, abilities }: ExecutorUnderTest): void {
  const one = async <T>(body: (executor: Executor, folder: string) => Promise<T>): Promise<T> => {
    using folder = freshFolder()
    const executor = await make()
    try {
      return await body(executor, folder.path)
    } finally {
      executor.close?.()
    }
  }

  test('has the rest of the table of exits', () =>
    one(async (executor, folder) => {
      writeFileSync(join(folder, 'not-executable'), '', { mode: 0o644 })
      const code = async (text: string, fields: object = {}) =>
        (await finish(executor, { folder, text, ...fields })).end
      assert.deepEqual(await code('no-such-program-anywhere'), { kind: 'exited', code: 127 })
      assert.deepEqual(await code('./not-executable'), { kind: 'exited', code: 126 })
      assert.deepEqual(await code('if then'), { kind: 'exited', code: 2 })
      assert.deepEqual(await code('sh -c "kill -KILL \\$\\$"; exit $?'), {
        kind: 'signaled',
        signal: 'SIGKILL',
        code: 137,
        limit: null,
      })
      // From outside it looks the same.
      assert.deepEqual(await code('exit 143'), { kind: 'signaled', signal: 'SIGTERM', code: 143, limit: null })
      const environment = { PATH: SYSTEM_PATH, LONG: 'x'.repeat(140_000) }
      assert.deepEqual(await code('exit 0', { environment }), { kind: 'exited', code: 126 }, 'argument too long')
    }))

  test('runs a text as it stands, however long and whatever is in it', () =>
    one(async (executor, folder) => {
      const hard = `printf '%s\\n' "it's \\"quoted\\" \\$HOME" $'tab\\there' 'ünï → 数据' '-- ; | &&' \\\n  'last'`
      const { stdout } = await finish(executor, { folder, text: hard })
      assert.equal(stdout, `it's "quoted" $HOME\ntab\there\nünï → 数据\n-- ; | &&\nlast\n`)
      const long = `value='${'x'.repeat(150_000)}'\necho \${#value}; exit 3`
      const { end, stdout: counted } = await finish(executor, { folder, text: long })
      assert.deepEqual([end.code, counted], [3, '150000\n'])
    }))

  test('gives a command its environment and nothing else, its folder, and no input', () =>
    one(async (executor, folder) => {
      process.env.YARDMASTER_TEST_CANARY = 'must not be inherited'
      const environment = {
        PATH: SYSTEM_PATH,
        QUOTES: `it's "a" \\ $(id) \`id\` !`,
        LINES: 'one\ntwo\n\n',
        EMPTY: '',
        UNICODE: 'ünï → 数据 🦖',
        ...(JSON.parse('{"__proto__": "p", "LD_LIBRARY_PATH": "/nonexistent"}') as object),
      }
      const { stdout } = await finish(executor, { folder, environment, text: 'env -0; pwd -P; cat' })
      const parts = stdout.split('\0')
      assert.equal(parts.pop(), `${folder}\n`)
      const found = parts.filter((part) => !/^(PWD|OLDPWD|SHLVL|_|HOSTNAME|container)=/.test(part))
      const names = abilities.ownNames.map((name) => new RegExp(`^${name}=`))
      assert.deepEqual(
        found.filter((part) => !names.some((name) => name.test(part))).sort(),
        Object.entries(environment)
          .map(([name, value]) => `${name}=${value}`)
          .sort(),
      )
    }))

  test('gives a command output that can be opened by name, and no other descriptor', () =>
    one(async (executor, folder) => {
      const text =
        'echo 1 > /dev/stdout; echo 2 | tee /dev/stderr; echo 3 >> /dev/stderr; ls /proc/self/fd | tr "\\n" " "'
      const { stdout, stderr } = await finish(executor, { folder, text })
      // The last one is that of ls itself.
      assert.deepEqual([stdout, stderr], ['1\n2\n0 1 2 3 ', '2\n3\n'])
      assert.deepEqual(readdirSync(folder), [])
    }))

  test('makes a command wait for a slow consumer, and holds less than a megabyte meanwhile', () =>
    one(async (executor, folder) => {
      const progress = join(folder, 'progress')
      const block = 65_536
      const text = `i=0; while [ $i -lt 100 ]; do echo $i > progress; head -c ${block} /dev/zero; i=$((i+1)); done`
      let taken = 0
      let most = 0
      await finish(executor, {
        folder,
        text,
        output: async (_stream, bytes) => {
          // As long as it takes the child to write another block, so that it would run ahead if it could.
          await new Promise((resolve) => setTimeout(resolve, 2))
          most = Math.max(most, Number(readFileSync(progress, 'utf8')) * block - taken)
          taken += bytes.length
        },
      })
      assert.equal(taken, 100 * block)
      assert.ok(most < 1_000_000, `${most} bytes were under way`)
    }))

  test('called off while it starts a command, has started nothing or ends it', () =>
    one(async (executor, folder) => {
      const number = uniqueNumber()
      let stopped = 0
      for (let round = 0; round < 8; round++) {
        const file = `ran-${round}`
        const controller = new AbortController()
        // Somewhere between the call and well after the start.
        setTimeout(() => controller.abort(new Error('called off')), (round * abilities.startMs) / 4)
        const spec = specOf({ folder, text: `echo > ${file}; exec sleep ${number}` })
        const outcome = await executor.start(spec, controller.signal).then(
          ({ ended }) => ended,
          (error: Error) => error,
        )
        if (outcome instanceof Error) {
          assert.equal(outcome.message, 'called off')
          assert.ok(!existsSync(join(folder, file)), 'what was not started has done nothing')
        } else {
          stopped++
          assert.equal(outcome.kind, 'aborted')
        }
      }
      assert.deepEqual(processesWith(number), [])
      assert.ok(stopped < 8, 'the first one was called off before anything could start')
    }))

  test('ends with the command, and not with a child that it left behind', () =>
    one(async (executor, folder) => {
      const number = uniqueNumber()
      const began = performance.now()
      const { end, stdout } = await finish(executor, { folder, text: `sleep ${number} & echo done` })
      assert.deepEqual([end, stdout], [{ kind: 'exited', code: 0 }, 'done\n'])
      assert.deepEqual(processesWith(number), [])
      assert.ok(performance.now() - began < 10_000)
    }))

  for (const [what, text] of [
    ['the shell', 'sh stub && echo never'],
    ['a shell that dies of the signal', `sh -c 'sh stub; exit 9'`],
    ['a program that dies of the signal', '{ sh stub & exec sleep 600; }'],
  ] as const) {
    test(`interrupts a program below ${what}, and leaves it the time to clean up`, () =>
      one(async (executor, folder) => {
        // The background job of a shell would ignore SIGINT and hear SIGTERM first.
        const heard = what.includes('program') ? 'TERM' : 'INT'
        const stub =
          `trap 'echo heard >> signals; sleep 0.3; echo cleaned >> signals; exit 3' ${heard}\n` +
          'echo up\nwhile :; do sleep 0.05; done'
        writeFileSync(join(folder, 'stub'), stub)
        const grace = { interruptMs: heard === 'INT' ? 10_000 : abilities.signalMs, terminateMs: 10_000 }
        const command = await begin(executor, { folder, text, grace })
        await command.said('up')
        command.controller.abort()
        assert.equal((await command.ended).kind, 'aborted')
        assert.equal(readFileSync(join(folder, 'signals'), 'utf8'), 'heard\ncleaned\n')
        assert.equal(command.text.stdout, 'up\n')
      }))
  }

  for (const [what, text] of Object.entries(NASTY)) {
    // Without a control group or a namespace nothing names such a process any more: a limit of L0 that the docs state.
    if (what.includes('cleared') && !abilities.views) continue
    if (what.includes('forks') && abilities.boundsProcesses === 'no') continue
    test(`leaves nothing of a command that ${what}`, () =>
      one(async (executor, folder) => {
        const number = uniqueNumber()
        const command = await begin(executor, {
          folder,
          text: text.replaceAll('NUMBER', number),
          limits: { ...NO_LIMITS, seconds: 30, processes: 40 },
        })
        await command.said('up')
        const began = performance.now()
        command.controller.abort()
        const end = await command.ended
        assert.deepEqual(processesWith(number), [])
        assert.equal(end.kind, 'aborted')
        assert.ok(performance.now() - began < 5_000, `took ${performance.now() - began} ms`)
      }))
  }

  test('holds the limits of file size and memory, and names the one that ended it', () =>
    one(async (executor, folder) => {
      const limits = { ...NO_LIMITS, seconds: 30, fileBytes: 100_000, memoryBytes: 200_000_000 }
      const big = await finish(executor, { folder, limits, text: 'exec head -c 1000000 /dev/zero > big' })
      assert.deepEqual(big.end, { kind: 'signaled', signal: 'SIGXFSZ', code: 153, limit: 'file size' })
      // A shell that holds 300 MB in a variable.
      const hungry = await finish(executor, {
        folder,
        limits,
        text: 'x=$(head -c 300000000 /dev/zero | tr "\\0" x) && printf %s "$x" | wc -c',
      })
      assert.notEqual(hungry.end.code, 0)
      if (executor.limitsKind.memory === 'cgroup') {
        assert.deepEqual(hungry.end, { kind: 'signaled', signal: 'SIGKILL', code: 137, limit: 'memory' })
      }
      assert.equal(hungry.stdout, '')
      const modest = await finish(executor, {
        folder,
        limits,
        text: 'x=$(head -c 9000000 /dev/zero | tr "\\0" x) && printf %s "$x" | wc -c',
      })
      assert.equal(modest.stdout, '9000000\n')
    }))

  if (abilities.boundsProcesses === 'each') {
    test('holds the limit of processes for each command by itself', () =>
      one(async (executor, folder) => {
        const limits = { ...NO_LIMITS, seconds: 30, processes: 25 }
        const numbers = [uniqueNumber(), uniqueNumber()]
        // dash gives up at the first fork that is refused; bash would wait for half a minute.
        const greedy = numbers.map((number) =>
          begin(executor, {
            folder,
            limits,
            text: `sh -c 'while :; do sleep ${number} & done' 2>&1; exec sleep ${number}`,
          }),
        )
        for (const [index, starting] of greedy.entries()) {
          const command = await starting
          await command.said('fork')
          const count = processesWith(numbers[index]!).length
          // Beside those of the command the stages and the engine's client carry the number.
          assert.ok(count > 10 && count <= 25 + 8, `${count} processes`)
        }
        for (const starting of greedy) (await starting).controller.abort()
        for (const starting of greedy) await (await starting).ended
        const eight = await finish(executor, {
          folder,
          limits,
          text: 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait; echo ok',
        })
        assert.equal(eight.stdout, 'ok\n')
      }))
  }

  test('gives a command no right that it could use to undo any of this', () =>
    one(async (executor, folder) => {
      const { stdout } = await finish(executor, {
        folder,
        text: 'grep -E "^(CapEff|CapAmb|NoNewPrivs)" /proc/self/status',
      })
      assert.equal(stdout.replace(/\s+/g, ' '), 'CapEff: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 ')
    }))

  if (abilities.views) viewConformance(one)
}

function viewConformance(one: (body: (executor: Executor, folder: string) => Promise<void>) => Promise<void>): void {
  const layOut = (root: string) => {
    const places = {
      checkout: join(root, 'runs', '1', 'checkout'),
      home: join(root, 'runs', '1', 'home'),
      other: join(root, 'runs', '2', 'checkout'),
      cache: join(root, 'cache', 'venv'),
    }
    for (const place of Object.values(places)) mkdirSync(place, { recursive: true })
    writeFileSync(join(root, 'master-key'), 'canary-key')
    writeFileSync(join(places.other, 'profiles.yml'), 'canary-other')
    writeFileSync(join(places.cache, 'python'), 'cached')
    return places
  }

  test('hides folders and files, save what the command was given inside of them', () =>
    one(async (executor, root) => {
      const { checkout, home, cache } = layOut(root)
      const text = [
        `cat ${root}/master-key ../../../master-key ${root}/runs/2/checkout/profiles.yml`,
        `find ${root} -name 'profiles.yml' -newer ${cache}/python -exec cat {} + 2>/dev/null`,
        'cat /proc/*/environ /proc/*/cmdline | tr "\\0" "\\n" | grep c[a]nary-in',
        'cat /proc/*/cwd/master-key /proc/*/root/' + root + '/master-key',
        `umount ${root}; unshare -Urm umount ${root}; cat ${root}/master-key`,
        `unshare -Urm sh -c 'umount -l ${root}; cat ${root}/master-key'`,
        `cat ${cache}/python; echo kept > ${home}/kept; echo made > made; ls ${root}`,
      ].join('\n')
      process.env.YARDMASTER_TEST_SECRET = 'canary-in-the-environment'
      const { stdout, stderr } = await finish(executor, {
        folder: checkout,
        writable: [home],
        readOnly: [cache],
        hidden: [root, join(root, 'master-key'), join(root, 'not-there')],
        text,
      })
      assert.doesNotMatch(stdout + stderr, /canary-/)
      assert.equal(stdout, 'cachedcache\nruns\n')
      assert.equal(readFileSync(join(home, 'kept'), 'utf8'), 'kept\n')
      assert.equal(readFileSync(join(checkout, 'made'), 'utf8'), 'made\n')
    }))

  test('hides a single file', () =>
    one(async (executor, root) => {
      const { checkout } = layOut(root)
      const { stdout } = await finish(executor, {
        folder: checkout,
        hidden: [join(root, 'master-key')],
        text: `cat ${root}/master-key; ls ${root}`,
      })
      assert.doesNotMatch(stdout, /canary/)
    }))

  test('holds read-only folders against everything that a command can try', () =>
    one(async (executor, root) => {
      const { checkout, cache } = layOut(root)
      const inner = join(checkout, 'vendor')
      mkdirSync(inner)
      const text = [
        `echo bad > ${cache}/python; touch ${cache}/new vendor/new; rm -rf ${cache}/python; chmod 777 ${cache}`,
        `mount -o remount,bind,rw ${cache}; echo bad > ${cache}/python`,
        `unshare -Urm sh -c 'mount -o remount,bind,rw ${cache}; echo bad > ${cache}/python'`,
        `ln ${cache}/python link && echo bad > link`,
        'touch mine && echo wrote',
      ].join('\n')
      const { stdout } = await finish(executor, { folder: checkout, readOnly: [cache, inner], text })
      assert.equal(readFileSync(join(cache, 'python'), 'utf8'), 'cached')
      assert.ok(!existsSync(join(cache, 'new')) && !existsSync(join(inner, 'new')))
      assert.match(stdout, /wrote/)
    }))

  test('shows a command no process but its own', () =>
    one(async (executor, folder) => {
      const { stdout } = await finish(executor, {
        folder,
        text: 'ls /proc | grep -c "^[0-9]"; kill -0 -1 && echo some',
      })
      assert.ok(Number(stdout.split('\n')[0]) < 10, stdout)
    }))

  test('leaves no mount behind', () =>
    one(async (executor, root) => {
      const { checkout, cache } = layOut(root)
      const mounts = () => readFileSync('/proc/self/mountinfo', 'utf8').includes(root)
      const command = await begin(executor, {
        folder: checkout,
        readOnly: [cache],
        hidden: [root],
        text: 'echo up; exec sleep 600',
      })
      await command.said('up')
      assert.equal(mounts(), false)
      command.controller.abort()
      await command.ended
      await eventually(() => !mounts(), 'no mount is left')
    }))
}
