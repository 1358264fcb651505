import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

export interface Folder {
  readonly path: string
  /** Writes a file and returns its path; mode 600 unless told otherwise. */
  write(name: string, content: string, mode?: number): string
}

/** A temporary folder that is gone after the test. */
export function folder(t: TestContext): Folder {
  const path = mkdtempSync(join(tmpdir(), 'yardmaster-config-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return {
    path,
    write(name, content, mode = 0o600) {
      const file = join(path, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
      chmodSync(file, mode)
      return file
    },
  }
}
