// Whether an inbound hook comes from who holds the secret. Compared in constant time, by digests of one length.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { GitProvider } from './pull-request.ts'

const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export interface HookHeaders {
  readonly [name: string]: string | undefined
}

/** GitHub signs the body; GitLab sends the secret itself. */
export function isSigned(provider: GitProvider, secret: string, headers: HookHeaders, body: Buffer): boolean {
  if (secret === '') return false
  if (provider === 'gitlab') return same(headers['x-gitlab-token'] ?? '', secret)
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  return same(headers['x-hub-signature-256'] ?? '', signature)
}

/** What tells one hook from another; null when there is none. */
export function hookId(provider: GitProvider, headers: HookHeaders): string | null {
  const id =
    provider === 'github'
      ? headers['x-github-delivery']
      : (headers['idempotency-key'] ?? headers['x-gitlab-event-uuid'])
  return id !== undefined && /^[\w.:-]{8,128}$/.test(id) ? id : null
}
