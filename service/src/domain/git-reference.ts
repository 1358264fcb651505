import { hasControl } from './text.ts'

/** A branch, tag or commit; null for a text that could mean anything else to git. */
export function parseReference(text: string): string | null {
  if (text === '' || text.length > 255 || hasControl(text) || /[\s~^:?*[\\]/.test(text)) return null
  if (text.startsWith('-') || text.includes('..') || text.includes('@{') || text === '@') return null
  if (text.startsWith('/') || text.endsWith('/') || text.endsWith('.') || text.endsWith('.lock')) return null
  return text.split('/').some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock')) ? null : text
}
