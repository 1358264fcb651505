// A virtual environment in a sandbox: its own folder, and the Python that it was made from where that is not the system's.
import { readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface VenvView {
  readonly readOnly: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export async function venvView(venv: string | null): Promise<VenvView> {
  if (venv === null) return { readOnly: [], environment: {} }
  const base = await basePython(venv)
  return {
    readOnly: [venv, ...(base === null ? [] : [base])],
    environment: { PATH: `${join(venv, 'bin')}:${SYSTEM_PATH}`, VIRTUAL_ENV: venv, PYTHONDONTWRITEBYTECODE: '1' },
  }
}

/** The folder with bin/ and lib/pythonX.Y/ in it, and never one that holds more than a Python: a home, say. */
async function basePython(venv: string): Promise<string | null> {
  const program = await realpath(join(venv, 'bin', 'python3')).catch(() => null)
  const base = program === null ? null : dirname(dirname(program))
  if (base === null || base.startsWith('/usr') || base.split('/').length < 4) return null
  const libraries = await readdir(join(base, 'lib')).catch(() => [])
  return libraries.some((name) => /^python3\.\d+$/.test(name)) ? base : null
}
