import type { Config, TlsFiles } from './schema.ts'

/** The address that people use when none is named: this machine, unless one address was chosen to listen on. */
export function defaultPublicUrl(at: { host: string; port: number; tls: TlsFiles | null }): string {
  const host = ['0.0.0.0', '::', '::0'].includes(at.host) ? '127.0.0.1' : at.host
  const url = new URL(`${at.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${at.port}`)
  return url.origin
}

/**
 * The same configuration once the server listens, where port 0 was asked for: with the port it got, also in a
 * `publicUrl` that was not given. (A given one never has port 0, so the two cannot be mistaken.)
 */
export function withListeningPort(config: Config, port: number): Config {
  const made = config.publicUrl === defaultPublicUrl(config)
  return Object.freeze({ ...config, port, publicUrl: made ? defaultPublicUrl({ ...config, port }) : config.publicUrl })
}
