import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownGroups } from './cgroup.ts'

const UNIFIED = '35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate'

test('a host of version 2 has one place', () => {
  assert.deepEqual(ownGroups(UNIFIED, '0::/system.slice/yardmaster.service\n'), [
    { version: 2, folder: '/sys/fs/cgroup/system.slice/yardmaster.service' },
  ])
})

test('a host of both versions has a place for processes of version 1, however its controllers are put together', () => {
  const mounts = [
    '40 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
    '41 30 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids',
    '42 30 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
  ].join('\n')
  assert.deepEqual(ownGroups(mounts, '8:pids:/a\n4:memory:/b\n0::/c\n'), [
    { version: 1, folder: '/sys/fs/cgroup/pids/a' },
    { version: 2, folder: '/sys/fs/cgroup/unified/c' },
  ])
  assert.deepEqual(ownGroups('41 30 0:32 / /cg rw - cgroup cgroup rw,cpu,pids', '8:cpu,pids:/a\n'), [
    { version: 1, folder: '/cg/a' },
  ])
})

test('a mount that shows only a part counts when we are in that part', () => {
  const part = UNIFIED.replace(' / /sys', ' /docker/1 /sys')
  assert.deepEqual(ownGroups(part, '0::/docker/1/x\n'), [{ version: 2, folder: '/sys/fs/cgroup/x' }])
  assert.deepEqual(ownGroups(part, '0::/docker/2\n'), [])
  assert.deepEqual(ownGroups(UNIFIED, '0::/../outside\n'), [])
})
