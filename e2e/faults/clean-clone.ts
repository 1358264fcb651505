// The command of the README in a clean clone, as a user types it: `npm start` with whatever Node the machine has, to
// an answered request; again within three seconds, after a kill -9 and after a clean stop. The clone lies in a folder
// that only its owner may enter, under a path of over 150 characters. As root and as another user without a home; run
// by anybody else, as that user with a home and without.
//
//   node e2e/faults/clean-clone.ts [--with-tests] [--from REPOSITORY]
//
// --with-tests: `npm test` in each clone as well. --from: another repository than this one; its HEAD is cloned.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { atExit, socketFolderOf } from '../support/leftovers.ts'
import { deepFolder, homeless, me, type Who } from '../support/places.ts'
import { clusterOf, postgresProcesses } from '../support/postgres.ts'
import { type Line, startClock, summary } from '../support/report.ts'
import { graphql, root, temporaryFolder } from '../support/service.ts'

const { values } = parseArgs({
  options: { 'with-tests': { type: 'boolean', default: false }, from: { type: 'string', default: root } },
})
const clock = startClock()
const people: readonly Who[] = [me, homeless]

/** What a shell of that user has: not the Node that this process runs on, and none of npm's own variables. */
function environmentOf({ home }: Who): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  return { PATH: path.join(delimiter), HOME: home, LANG: 'C.UTF-8', YARDMASTER_PORT: '0' }
}

async function cloneFor(who: Who, bundle: string): Promise<string> {
  const folder = await deepFolder(who)
  const code = await run(
    who,
    ['git', '-c', 'advice.detachedHead=false', 'clone', '--quiet', bundle, 'yardmaster'],
    folder,
  )
  if (code !== 0) throw new Error(`git clone ended with exit code ${code}`)
  return join(folder, 'yardmaster')
}

/** Its exit code. */
async function run(who: Who, argv: readonly string[], cwd: string): Promise<number> {
  const [program, ...rest] = [...who.prefix, ...argv]
  const child = spawn(program!, rest, { cwd, env: environmentOf(who), stdio: ['ignore', 'inherit', 'inherit'] })
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  const [code] = (await once(child, 'exit')) as [number | null]
  process.off('exit', end)
  return code ?? -1
}

interface Started {
  readonly ms: number
  readonly npm: number
  readonly service: number
  readonly exited: Promise<number | null>
  readonly stderr: string
}

async function npmStart(who: Who, clone: string): Promise<Started> {
  const data = join(clone, '.yardmaster')
  const began = performance.now()
  const [program, ...rest] = [...who.prefix, 'npm', 'start']
  const child = spawn(program!, rest, { cwd: clone, env: environmentOf(who), stdio: ['ignore', 'pipe', 'pipe'] })
  atExit(child, data)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk
  })
  let ended = false
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      ended = true
      resolve(code)
    })
  })
  for (;;) {
    const url = /^Yardmaster is running at (\S+)$/m.exec(out)?.[1]
    if (url !== undefined && (await answers(url, readFileSync(join(data, 'first-key'), 'utf8').trim()))) break
    if (ended) throw new Error(`npm start ended:\n${out}${err}`)
    await pause(10)
  }
  const ms = performance.now() - began
  const { pid } = JSON.parse(readFileSync(join(data, 'service.json'), 'utf8')) as { pid: number }
  return { ms, npm: child.pid!, service: pid, exited, stderr: err }
}

async function answers(url: string, key: string): Promise<boolean> {
  try {
    const { body } = await graphql(url, key, '{ listWorkspaces { ok workspaces { name } } }')
    return JSON.stringify(body) === '{"data":{"listWorkspaces":{"ok":true,"workspaces":[{"name":"Demo"}]}}}'
  } catch {
    return false
  }
}

const isThere = (pid: number): boolean => existsSync(`/proc/${pid}`)

async function proof(who: Who, bundle: string): Promise<Line[]> {
  const clone = await cloneFor(who, bundle)
  const data = join(clone, '.yardmaster')
  const first = await npmStart(who, clone)
  const program = readlinkSync(`/proc/${first.service}/exe`)
  console.log(`${who.name}: ${clone.length} characters, served by ${program.replace(clone, '.')}`)
  process.kill(first.service, 'SIGKILL')
  await first.exited
  const second = await npmStart(who, clone)
  process.kill(second.npm, 'SIGTERM')
  const code = await second.exited
  // npm may end before the service that it has handed the signal to.
  const asked = performance.now()
  while (isThere(second.service) && performance.now() - asked < 10_000) await pause(10)
  const survived = Number(isThere(second.service)) + postgresProcesses(clusterOf(data)).length
  const third = await npmStart(who, clone)
  process.kill(third.npm, 'SIGTERM')
  await third.exited
  while (isThere(third.service)) await pause(10)
  const left = [socketFolderOf(realpathSync(data)), join(data, 'postgres', 'postmaster.pid')].filter(existsSync)
  const lines: Line[] = [
    [`${who.name}: clone to first answer, ms`, first.ms],
    ['  after kill -9 of the service, npm start to answer, ms', second.ms, (n) => n <= 3_000],
    ['  SIGTERM to npm: its exit code', code ?? -1, (n) => n === 0],
    ['    processes that survived it', survived, (n) => n === 0],
    ['  after a clean stop, npm start to answer, ms', third.ms, (n) => n <= 3_000],
    ['  left behind at the end', left.length, (n) => n === 0],
  ]
  if (values['with-tests']) {
    const began = performance.now()
    const code = await run(who, ['npm', 'test'], clone)
    lines.push(['  npm test: exit code', code, (n) => n === 0], ['    s', (performance.now() - began) / 1000])
  }
  return lines
}

const shared = await temporaryFolder('bundle')
chmodSync(shared, 0o755)
const bundle = join(shared, 'yardmaster.bundle')
execFileSync('git', ['bundle', 'create', '--quiet', bundle, 'HEAD'], { cwd: values.from })
chmodSync(bundle, 0o644)
const systemNode = execFileSync('node', ['--version'], { env: environmentOf(me), encoding: 'utf8' }).trim()
const lines: Line[] = []
for (const who of people) lines.push(...(await proof(who, bundle)))
summary(`a clean clone, on a machine with Node ${systemNode}`, clock, lines)
