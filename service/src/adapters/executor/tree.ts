// The processes of one command as something to be signalled, killed and waited for.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProcessExit } from '../../domain/return-code.ts'
import type { CommandGroup } from './cgroup.ts'
import { childrenOf, groupLives, hasMembers, isAlive, type ProcessStat, send, statOf, sweep } from './process-tree.ts'

export interface Tree {
  /** The process that stands for the command has ended; others of the tree may be left. */
  readonly exited: Promise<ProcessExit>
  /** Its first stage is set up. */
  ready(): void
  /** To the command and what it has not put elsewhere. Stopped ones are woken to take it. */
  send(signal: 'SIGINT' | 'SIGTERM'): void
  /** All of it. */
  kill(): void
  /** After the exit: whether something that a signal went to is still at work on it. */
  lingers(): Promise<boolean>
  /** Resolves when no process of the tree is alive; call it after the exit. What is left then is killed. */
  gone(): Promise<void>
}

const exitOf = (child: ChildProcess): Promise<ProcessExit> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))

/**
 * unshare means to end by the signal that ended its child, and fails to with SIGKILL (util-linux 2.38): it says so and
 * exits with 1. Nothing else of ours complains once the command runs.
 */
async function namespaceExit(child: ChildProcess): Promise<ProcessExit> {
  const words = child.stderr!
  let complaint = ''
  words.on('data', (text: Buffer | string) => {
    complaint = (complaint + String(text)).slice(-1_000)
  })
  const read = once(words, 'close').catch(() => {})
  const exit = await exitOf(child)
  if (exit.code !== 1) return exit
  await Promise.race([read, pause(1_000, undefined, { ref: false })])
  return /^unshare: /m.test(complaint) ? { code: null, signal: 'SIGKILL' } : exit
}

/** How long the waiting process gets to collect its dead before it is killed itself. */
const COLLECT_MS = 300

/** A PID namespace: it dies with its first process, and that dies with the process outside which waits for it. */
export function namespaceTree(child: ChildProcess, group: CommandGroup | null): Tree {
  const outer = child.pid!
  let init: ProcessStat | null = null
  let isOver = false
  const exited = namespaceExit(child)
  void exited.then(() => {
    isOver = true
  })
  const lives = (): boolean => init !== null && isAlive(init.pid, init.start)
  return {
    exited,
    ready() {
      init = childrenOf(outer)[0] ?? null
    },
    send(signal) {
      if (isOver) return
      send(-outer, signal)
      send(-outer, 'SIGCONT')
    },
    kill() {
      if (isOver) return
      if (!lives()) {
        send(-outer, 'SIGKILL')
        return
      }
      // From the inside out, so that the process outside can collect the dead; it may have been stopped.
      send(init!.pid, 'SIGKILL')
      send(-outer, 'SIGCONT')
      setTimeout(() => {
        if (!isOver) send(-outer, 'SIGKILL')
      }, COLLECT_MS)
    },
    // Its first process has waited for the others.
    lingers: async () => false,
    async gone() {
      // When the outer one was killed, the kernel is still ending the namespace: its first process goes last.
      for (let ms = 1; lives(); ms = Math.min(ms * 2, 100)) {
        send(init!.pid, 'SIGKILL')
        await pause(ms)
      }
      await emptied(group)
    },
  }
}

/** A session, and what left it but carries the mark or is in the control group. */
export function groupTree(child: ChildProcess, { mark, group }: { mark: string; group: CommandGroup | null }): Tree {
  const pid = child.pid!
  const belonging = { leader: { pid, start: statOf(pid)?.start ?? '0' }, mark }
  const exited = exitOf(child)
  let isOver = false
  void exited.then(() => {
    isOver = true
  })
  const kill = (): void => {
    // The kernel's way is at once, the sweep is not, and blocks us for some milliseconds.
    if (!group?.kill()) sweep(belonging)
  }
  return {
    exited,
    ready() {},
    // Without its leader the group is ours for as long as there is somebody in it; nobody else's can have its number
    // then, and when it is empty there is nobody to hear.
    send(signal) {
      send(-pid, signal)
      send(-pid, 'SIGCONT')
    },
    kill() {
      kill()
      // It may not have joined its control group yet.
      if (!isOver) send(-pid, 'SIGKILL')
    },
    lingers: () => groupLives(pid),
    async gone() {
      if (group?.isEmpty() === false) kill()
      await emptied(group)
      // What joined another group of its own accord still carries the mark.
      for (let ms = 1; await hasMembers(belonging); ms = Math.min(ms * 2, 100)) {
        sweep(belonging)
        await pause(ms)
      }
    },
  }
}

/** Dead processes leave their group a moment after they are dead; without this the folder could not be removed. */
async function emptied(group: CommandGroup | null): Promise<void> {
  for (let ms = 1; group?.isEmpty() === false; ms = Math.min(ms * 2, 100)) {
    group.kill()
    await pause(ms)
  }
}
