// What people's files and output are served with: never shown by a browser as a page of ours, never sniffed.
import type { FastifyReply } from 'fastify'

export function asAttachment(reply: FastifyReply, name: string, type: string): FastifyReply {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`)
    .header('content-security-policy', "sandbox; default-src 'none'; frame-ancestors 'none'")
    .header('cross-origin-resource-policy', 'same-site')
}

export type Range = { readonly start: number; readonly end: number }

/** One range of bytes; undefined for none, or one that need not be understood; null for one that cannot be met. */
export function parseRange(header: string | undefined, size: number): Range | null | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return undefined
  const [from, to] = [match[1]!, match[2]!]
  if (from === '') {
    const length = Math.min(Number(to), size)
    return length === 0 ? null : { start: size - length, end: size - 1 }
  }
  const range = { start: Number(from), end: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
  if (to !== '' && Number(to) < Number(from)) return undefined
  return range.start >= size ? null : range
}
