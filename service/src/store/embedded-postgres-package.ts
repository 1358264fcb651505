/** PostgreSQL's programs and libraries, from the npm package of this platform. */
import { chmod, mkdir, readdir, readFile, readlink, rename, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { unless } from './embedded-postgres-files.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  readonly libraries: string
  readonly links: string
}

/** The package of this platform, found without running anything of it. */
export function findBinaries(platform = process.platform, arch = process.arch): Binaries {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
  const require = createRequire(import.meta.url)
  let entry: string
  try {
    // From the package that depends on it, which is the only one that sees it in some installations.
    entry = createRequire(require.resolve('embedded-postgres')).resolve(name)
  } catch (error) {
    throw new Error(
      `There is no built-in PostgreSQL for ${platform} on ${arch} (${name} is not installed): set DATABASE_URL to a ` +
        'PostgreSQL server of yours',
      { cause: error },
    )
  }
  const native = join(dirname(entry), '..', 'native')
  return {
    initdb: join(native, 'bin', 'initdb'),
    postgres: join(native, 'bin', 'postgres'),
    libraries: join(native, 'lib'),
    links: join(native, 'pg-symlinks.json'),
  }
}

/**
 * The package keeps its libraries under their full names and leaves the names that the loader looks for to an install
 * script. We run no install scripts and do not write into node_modules: the links are made in the data folder.
 */
export async function linkLibraries(data: string, binaries: Binaries): Promise<void> {
  const folder = join(data, 'postgres-lib')
  await mkdir(folder, { recursive: true })
  // Whatever the umask is: the user that root becomes where there are no user namespaces looks in here too.
  await chmod(folder, 0o755)
  const wanted = new Map<string, string>()
  for (const file of await readdir(binaries.libraries)) {
    if (/\.(so|dylib)\b/.test(file)) wanted.set(file, join(binaries.libraries, file))
  }
  const listed = await readFile(binaries.links, 'utf8').catch(unless('ENOENT'))
  for (const { source, target } of JSON.parse(listed || '[]') as { source: string; target: string }[]) {
    wanted.set(basename(target), join(binaries.libraries, basename(source)))
  }
  for (const [name, source] of wanted) {
    const path = join(folder, name)
    if ((await readlink(path).catch(unless('ENOENT', 'EINVAL'))) === source) continue
    // Beside its place and then over it: another process may be starting from the same folder.
    const fresh = `${path}.${process.pid}`
    await symlink(source, fresh)
    await rename(fresh, path)
  }
}
