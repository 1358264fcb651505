// The last will of a service that runs commands without a namespace: a small process that waits for the service's end,
// by whatever way, and then kills what carries its mark. With namespaces the kernel does that.
import { type ChildProcess, spawn } from 'node:child_process'
import { SYSTEM_PATH } from './host.ts'

// grep's own answer says nothing: it complains of every process that ended while it looked.
const SCRIPT = `cat >/dev/null
round=0
while [ $round -lt 200 ]; do
  found=$(grep -lszF -- "$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -STOP "\${pid%/environ}" 2>/dev/null; done
  for file in $found; do pid=\${file#/proc/}; kill -KILL "\${pid%/environ}" 2>/dev/null; done
  round=$((round + 1))
done`

export interface Guard {
  end(): void
}

/** `mark` is the beginning of `NAME=value`. It is told apart from anybody else's by a random part. */
export function startGuard(sh: string, mark: string): Guard {
  const child: ChildProcess = spawn(sh, ['-c', SCRIPT, 'yardmaster-guard', mark], {
    // A group of its own: what is typed at the service's terminal does not reach it.
    detached: true,
    cwd: '/',
    env: { PATH: SYSTEM_PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.on('error', () => {})
  child.stdin!.on('error', () => {})
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return { end: () => void child.stdin!.end() }
}
