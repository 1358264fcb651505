import assert from 'node:assert/strict'
import { chmodSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '../../test/support/config-folder.ts'
import { exposedFile, readSecretFile } from './files.ts'

test('only a file that its owner alone can read is taken as a secret', (t) => {
  const { write } = folder(t)
  const file = write('secret', 'value\n')
  for (const mode of [0o600, 0o400, 0o700]) {
    chmodSync(file, mode)
    assert.deepEqual(readSecretFile(file), { value: 'value' })
  }
  for (const mode of [0o640, 0o604, 0o644, 0o620, 0o602, 0o777]) {
    chmodSync(file, mode)
    assert.match(readSecretFile(file).fault ?? '', /run: chmod 600/, mode.toString(8))
    assert.match(exposedFile(file) ?? '', /run: chmod 600/)
  }
})

test('a mounted secret is taken with the mode that Docker and Kubernetes give it', (t) => {
  const mounted = folder(t)
  const root = realpathSync(mounted.path)
  const docker = mounted.write('token', 'from docker\n', 0o444)
  assert.deepEqual(readSecretFile(docker, root), { value: 'from docker' })
  // Kubernetes: yard/token -> ..data/token -> ..2025/token
  mounted.write('yard/..2025/token', 'from kubernetes', 0o644)
  symlinkSync('..2025', join(mounted.path, 'yard/..data'))
  symlinkSync('..data/token', join(mounted.path, 'yard/token'))
  assert.deepEqual(readSecretFile(join(mounted.path, 'yard/token'), root), { value: 'from kubernetes' })
  // Through a link to the folder, as /var/run is one to /run.
  const elsewhere = folder(t)
  symlinkSync(mounted.path, join(elsewhere.path, 'run'))
  assert.deepEqual(readSecretFile(join(elsewhere.path, 'run/token'), root), { value: 'from docker' })
  // A folder whose name only begins alike is not the mounted one.
  assert.match(readSecretFile(docker, root.slice(0, -1)).fault ?? '', /chmod 600/)
  assert.match(readSecretFile(docker).fault ?? '', /chmod 600/)
})
