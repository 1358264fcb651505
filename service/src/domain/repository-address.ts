// One repository has many addresses: https with and without `.git`, ssh in two forms. This is what they have in common.

/** Host and path in lower case, such as `github.com/acme/shop`; a local path stays as it is. */
export function repositoryOf(url: string): string {
  const text = url.trim()
  if (text.startsWith('/')) return text.replace(/\/+$/, '')
  const scp = /^(?:[^@/\s]+@)?([A-Za-z0-9.-]+):(?!\/\/)(.+)$/.exec(text)
  if (scp !== null && !text.includes('://')) return joined(scp[1]!, scp[2]!)
  try {
    const { hostname, port, pathname, protocol } = new URL(text)
    const usual = port === '' || protocol === 'ssh:'
    return joined(usual ? hostname : `${hostname}:${port}`, pathname)
  } catch {
    return ''
  }
}

const joined = (host: string, path: string): string =>
  `${host}/${path
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')}`.toLowerCase()

/** `acme/shop`: what the host's own interface calls it. Null for a local path. */
export function pathOfRepository(repository: string): string | null {
  const at = repository.indexOf('/')
  return at <= 0 ? null : repository.slice(at + 1)
}
