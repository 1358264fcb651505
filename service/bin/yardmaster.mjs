#!/usr/bin/env node
// Starts the command line on Node 24, whatever Node the machine has. Plain JavaScript that Node 20 runs: everything
// that is newer stays behind the import.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const NEEDED = 24
/** What one press of Ctrl-C can send several times over (the terminal, npm, timeout) is one signal. */
const ONE_SIGNAL_MS = 500

const here = dirname(fileURLToPath(import.meta.url))
// Stripped and compiled files are kept beside the modules, where only who may change those can write: it halves what a
// short command takes (0.95 to 0.49 s of processor time). Where it cannot be written, nothing is kept.
const modules = nearest(here, 'node_modules')
const cache = modules && join(modules, '.cache', 'yardmaster')
// The clone holds the sources. The published package holds the same files without their types, because Node does not
// strip types below node_modules.
const entry = [join(here, '..', 'src', 'main.ts'), join(here, '..', 'dist', 'main.js')].find((path) => existsSync(path))

if (entry === undefined) {
  fail(`Yardmaster is not whole: neither src/main.ts nor dist/main.js is beside ${here}. Install it again.`)
} else if (Number(process.versions.node.split('.')[0]) >= NEEDED) {
  if (cache) module.enableCompileCache(cache)
  await import(pathToFileURL(entry).href)
} else {
  // The Node that the lock file pins.
  const node = nearest(here, join('node_modules', '.bin', 'node'))
  if (node === undefined) {
    fail(
      `Yardmaster needs Node ${NEEDED} or later, and this is ${process.version}. In a clone run "npm ci", which brings ` +
        'one along on Linux; elsewhere install Node 24 and run the same command again.',
    )
  } else {
    runOn(node, entry)
  }
}

/** The path in the nearest folder above that has it. */
function nearest(from, path) {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, path))) return join(folder, path)
    if (dirname(folder) === folder) return undefined
  }
}

function runOn(node, file) {
  // A group of its own: a signal reaches it through us, once, and not a second time from the terminal; the second
  // signal is what ends a service without draining.
  const env = cache ? { NODE_COMPILE_CACHE: cache, ...process.env } : process.env
  const child = spawn(node, [file, ...process.argv.slice(2)], { env, stdio: 'inherit', detached: true })
  const last = new Map()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = Date.now()
      if (now - (last.get(signal) ?? 0) < ONE_SIGNAL_MS) return
      last.set(signal, now)
      child.kill(signal)
    })
  }
  child.on('error', (error) => fail(`${node} could not be started: ${error.message}`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}

function fail(message) {
  process.stderr.write(`yardmaster: ${message}\n`)
  process.exitCode = 1
}
