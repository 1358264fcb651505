// Every route says who may use it, or the service does not start. The list is what the access matrix is tested against.
import type { FastifyInstance } from 'fastify'

export const ACCESS = [
  /** Answers anyone. */
  'public',
  /** Credentials, gate and policy table of api/graphql. */
  'graphql',
  /** A signed-in person, by the session cookie. */
  'session',
  /** Whoever holds the one-time link. */
  'one-time-link',
  /** Whoever holds a link that was signed and has not expired. */
  'signed-link',
  /** A git host, or Slack, that knows the secret of the workspace's integration. */
  'signed-hook',
  /** Prometheus: the metrics token, or this machine. */
  'metrics',
] as const

export type Access = (typeof ACCESS)[number]

export interface Route {
  readonly method: string
  readonly url: string
  readonly access: Access
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use the route: `{ config: { access: 'public' } }`. */
    access?: Access
  }
  interface FastifyInstance {
    /** Every route that is served, HEAD included. */
    readonly routeTable: readonly Route[]
    /** The methods that a path answers, none for a path that nobody serves. */
    methodsOf(path: string): readonly string[]
  }
}

export function requireAccess(app: FastifyInstance): void {
  const table: Route[] = []
  const patterns: { method: string; pattern: RegExp }[] = []
  app.decorate('routeTable', table)
  app.decorate('methodsOf', (path: string) => [
    ...new Set(patterns.filter((one) => one.pattern.test(path)).map((one) => one.method)),
  ])
  app.addHook('onRoute', (route) => {
    const access = route.config?.access
    const methods = Array.isArray(route.method) ? route.method : [route.method]
    if (access === undefined || !ACCESS.includes(access)) {
      throw new Error(
        `The route ${methods.join(',')} ${route.url} does not say who may use it: config: { access: '…' }`,
      )
    }
    for (const method of methods) {
      table.push({ method, url: route.url, access })
      patterns.push({ method, pattern: patternOf(route.url) })
    }
  })
}

function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) =>
      part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`),
    )
  return new RegExp(`^${parts.join('/')}$`)
}
