// Makes a clean clone ready: installs what the lock file names, once per lock file. Built-ins only, and plain
// JavaScript, because it must run on whatever Node (20 or later) the machine has; everything after it runs on the
// Node 24 that the lock file pins.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
const stamp = join(root, 'node_modules', '.installed-lock')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
  const env = { ...process.env }
  try {
    accessSync(homedir(), constants.W_OK)
  } catch {
    // A user without a writable home (nobody, a container's random uid): npm's cache goes beside the clone's modules.
    env.npm_config_cache = join(root, '.npm-cache')
  }
  process.stderr.write('Installing dependencies (once per lock file) …\n')
  // No dependency's install script is needed: PostgreSQL's library links are made by the service itself.
  const argv = ['ci', '--ignore-scripts', '--loglevel=error']
  const npm = process.env.npm_execpath
  const done = npm
    ? spawnSync(process.execPath, [npm, ...argv], { cwd: root, env, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', argv, { cwd: root, env, stdio: ['ignore', 2, 2] })
  if (done.status !== 0) process.exit(done.status ?? 1)
  writeFileSync(stamp, lock)
}

// On a platform without a pinned Node (see optionalDependencies) the machine's own must be new enough.
const pinned = join(root, 'node_modules', '.bin', 'node')
if (!existsSync(pinned) && Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `Yardmaster needs Node 24, and there is no packaged one for ${process.platform}-${process.arch}. ` +
      `Install Node 24 or later and run the same command again (this is ${process.version}).\n`,
  )
  process.exit(1)
}
