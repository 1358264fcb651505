// A container engine that works here, with an image made of this machine's own programs: nothing is fetched.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ContainerOptions } from '../../src/adapters/executor/container.ts'

const PROGRAMS =
  'bash cat chmod dash env find grep head id ln ls mkdir mount rm seq setsid sleep stat tee touch tr umount unshare wc'.split(
    ' ',
  )
const IMAGE = 'localhost/yardmaster-test:latest'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export type FoundEngine =
  | (AsyncDisposable & { readonly options: ContainerOptions })
  | { readonly options: null; readonly why: string }

interface Called {
  readonly ok: boolean
  readonly said: string
}

function call(engine: string, args: readonly string[], input?: Buffer): Called {
  const { status, stderr, error } = spawnSync(engine, args, {
    input,
    env: { PATH, HOME: '/nonexistent' },
    maxBuffer: 1 << 28,
    timeout: 60_000,
  })
  return { ok: status === 0, said: String(error?.message ?? stderr).trim() }
}

/** A root folder of programs and the libraries that they name. */
function makeRoot(root: string): void {
  for (const folder of ['usr/bin', 'usr/lib', 'usr/lib64', 'tmp', 'etc', 'proc', 'dev', 'sys']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name))
  writeFileSync(join(root, 'etc', 'passwd'), 'root:x:0:0:root:/:/bin/sh\n')
  for (const name of PROGRAMS) {
    const path = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].map((one) => join(one, name)).find((one) => existsSync(one))
    if (path === undefined) continue
    copyFileSync(path, join(root, 'usr/bin', name))
    const listed = String(spawnSync('ldd', [path], { env: { PATH } }).stdout)
    for (const [library] of listed.matchAll(/\/\S+/g)) {
      const target = join(root, 'usr', library.replace(/^\/usr\//, '/'))
      mkdirSync(dirname(target), { recursive: true })
      copyFileSync(library, target)
    }
  }
  symlinkSync(existsSync(join(root, 'usr/bin/dash')) ? 'dash' : 'bash', join(root, 'usr/bin/sh'))
}

/** Programs of the host, and ways in which they may be set up here. */
export function findEngine(): FoundEngine {
  const folder = mkdtempSync(join(tmpdir(), 'yardmaster-containers-'))
  const clean = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const reasons: string[] = []
  // podman gives containers more of these than a host without CAP_SYS_RESOURCE has to give.
  const modest = ['--ulimit=nproc=4096']
  const store = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--storage-driver=vfs']
  const ways = [
    { engine: 'podman', engineFlags: store, flags: [] },
    { engine: 'podman', engineFlags: store, flags: modest },
    { engine: 'podman', engineFlags: [...store, '--runtime=runc'], flags: [] },
    { engine: 'podman', engineFlags: [...store, '--runtime=runc'], flags: modest },
    { engine: 'docker', engineFlags: [], flags: [] },
  ]
  let archive: Buffer | null = null
  const imported = new Set<string>()
  for (const { engine, engineFlags, flags } of ways) {
    const version = call(engine, [...engineFlags, 'version'])
    if (!version.ok) {
      reasons.push(`${engine}: ${version.said.split('\n').at(-1)}`)
      continue
    }
    if (!imported.has(engine)) {
      if (archive === null) {
        makeRoot(join(folder, 'image'))
        archive = spawnSync('tar', ['-C', join(folder, 'image'), '-c', '.'], {
          maxBuffer: 1 << 28,
          env: { PATH },
        }).stdout
      }
      const made = call(engine, [...engineFlags, 'import', '-', IMAGE], archive)
      if (made.ok) imported.add(engine)
    }
    const tried = call(engine, [
      ...engineFlags,
      ...['run', '--rm', '--init', '--network=none', '--log-driver=none', '--ulimit=nofile=1024', ...flags],
      ...[IMAGE, 'sh', '-c', ':'],
    ])
    if (tried.ok) {
      const clientEnvironment = { PATH, HOME: '/nonexistent' }
      return {
        options: { engine, engineFlags, flags, image: IMAGE, network: 'none', clientEnvironment },
        [Symbol.asyncDispose]: async () => {
          if (engine === 'docker') call(engine, ['image', 'rm', '--force', IMAGE])
          clean()
        },
      }
    }
    reasons.push(`${engine}: ${tried.said.split('\n').at(-1)}`)
  }
  clean()
  return { options: null, why: [...new Set(reasons)].join('; ') }
}
