// What a process of ours really holds. V8 lets garbage lie while there is room, hundreds of megabytes on a large machine,
// so resident memory alone tells nothing: before each look the process is told, through its inspector, to collect.
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { ServiceProcess } from './service.ts'

/** For the environment of the process: its inspector, when it is woken, takes a free port. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' }

export interface Memory {
  /** In MB, after a collection. */
  readonly resident: number
  /** In MB, before it. */
  readonly residentBefore: number
}

export function residentOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
}

export async function memoryOf(service: ServiceProcess): Promise<Memory> {
  const residentBefore = residentOf(service.pid)
  const address = await wakeInspector(service)
  // Twice, with a pause: what a finalizer lets go is collected by the second, and pages go back a moment later.
  for (let time = 0; time < 2; time++) {
    await command(address, 'HeapProfiler.collectGarbage')
    await pause(500)
  }
  return { resident: residentOf(service.pid), residentBefore }
}

async function wakeInspector(service: ServiceProcess): Promise<string> {
  const find = () => /Debugger listening on (ws:\/\/\S+)/.exec(service.stderr())?.[1]
  if (find() === undefined) service.signal('SIGUSR1')
  for (let tries = 0; tries < 500; tries++) {
    const address = find()
    if (address !== undefined) return address
    await pause(10)
  }
  throw new Error('the inspector of the service did not wake up')
}

function command(address: string, method: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address)
    socket.onopen = () => socket.send(JSON.stringify({ id: 1, method }))
    socket.onmessage = () => {
      socket.close()
      resolve()
    }
    socket.onerror = () => reject(new Error(`the inspector at ${address} does not answer`))
  })
}

/** In MB: the most that was resident since the start, or since `resetPeak`. */
export function peakOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
}

export const resetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')
