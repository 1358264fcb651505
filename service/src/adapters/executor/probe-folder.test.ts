import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readlinkSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { makeProbeFolder, removeProbeFolder } from './probe-folder.ts'

test('a probe removes the folder that a killed service left, and none of a living one or of another namespace', async () => {
  const place = await mkdtemp(join(tmpdir(), 'yardmaster-probes-'))
  const before = process.env.TMPDIR
  process.env.TMPDIR = place
  try {
    const own = makeProbeFolder()
    assert.equal(dirname(own), place)
    const child = spawn('true')
    await once(child, 'exit')
    const namespace = readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
    const left = join(place, `yardmaster-probe-${namespace}.${child.pid}.1.abcdef`)
    const foreign = join(place, `yardmaster-probe-1${namespace}.${child.pid}.1.abcdef`)
    for (const folder of [left, foreign]) await mkdir(folder)
    const second = makeProbeFolder()
    assert.deepEqual([own, second, left, foreign].map(existsSync), [true, true, false, true])
    removeProbeFolder(second)
    assert.equal(existsSync(second), false)
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await rm(place, { recursive: true })
  }
})
