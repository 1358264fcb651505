// The files that settings name: secrets, and the certificate and key of TLS. Each reader gives the content or what is
// wrong, as the end of a sentence that begins with the file's name.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, sep } from 'node:path'

export type Read<T> = { readonly value: T; readonly fault?: undefined } | { readonly fault: string }

// Docker and Kubernetes mount secrets read-only for everybody (0444) in a folder that only the container has.
const MOUNTED_SECRETS = '/run/secrets'
const MAX_BYTES = 64 * 1024

/** A secret's file: regular, readable by its owner alone (unless mounted under `mountedUnder`), its last line break cut. */
export function readSecretFile(path: string, mountedUnder: string = MOUNTED_SECRETS): Read<string> {
  const found = inspectFile(path)
  if ('fault' in found) return found
  const open = exposure(path, found.stats, 0o077, mountedUnder)
  if (open) return { fault: open }
  const content = readText(path)
  if (content.fault !== undefined) return content
  const value = content.value.replace(/[\r\n]+$/, '')
  return value === '' ? { fault: 'is empty' } : { value }
}

/** What is wrong with the mode of a configuration file that holds a secret, or nothing. */
export function exposedFile(path: string, mountedUnder: string = MOUNTED_SECRETS): string | undefined {
  const found = inspectFile(path)
  return 'fault' in found ? undefined : exposure(path, found.stats, 0o077, mountedUnder)
}

export function readCertificateFile(path: string): Read<X509Certificate> {
  const found = inspectFile(path)
  if ('fault' in found) return found
  const content = readText(path)
  if (content.fault !== undefined) return content
  try {
    return { value: new X509Certificate(content.value) }
  } catch {
    return { fault: 'holds no certificate in PEM form' }
  }
}

/** The fault of a private key's file, by itself or with its certificate. A group may read it, as Debian's ssl-cert does. */
export function keyFileFault(path: string, certificate: X509Certificate | undefined): string | undefined {
  const found = inspectFile(path)
  if ('fault' in found) return found.fault
  const open = exposure(path, found.stats, 0o007, MOUNTED_SECRETS)
  if (open) return open
  const content = readText(path)
  if (content.fault !== undefined) return content.fault
  try {
    const key = createPrivateKey(content.value)
    return certificate && !certificate.checkPrivateKey(key) ? 'is not the key of the certificate' : undefined
  } catch {
    return 'holds no private key in PEM form (one with a passphrase cannot be used)'
  }
}

/** A failed system call in plain words. */
export function plainError(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist'
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by the user that Yardmaster runs as'
  if (code === 'EISDIR') return 'is a folder'
  return `cannot be read (${code ?? 'unknown error'})`
}

// A pipe or device is refused before it is opened: reading one can wait for ever.
function inspectFile(path: string): { stats: Stats } | { fault: string } {
  try {
    const stats = statSync(path)
    if (stats.isDirectory()) return { fault: 'is a folder' }
    if (!stats.isFile()) return { fault: 'is not a regular file' }
    return stats.size > MAX_BYTES ? { fault: `is larger than ${MAX_BYTES / 1024} KiB` } : { stats }
  } catch (error) {
    return { fault: plainError(error) }
  }
}

function readText(path: string): Read<string> {
  try {
    return { value: readFileSync(path, 'utf8') }
  } catch (error) {
    return { fault: plainError(error) }
  }
}

function exposure(path: string, stats: Stats, forbidden: number, mountedUnder: string): string | undefined {
  if ((stats.mode & forbidden) === 0 || isUnder(dirname(path), mountedUnder)) return undefined
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0')
  return `can be read or changed by other users (mode ${mode}); run: chmod 600 ${path}`
}

// By the folder's real place, since /var/run is a link to /run; the file itself may be a link (Kubernetes makes one).
function isUnder(folder: string, root: string): boolean {
  try {
    const real = realpathSync(folder)
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)
  } catch {
    return false
  }
}
