import { createHash, randomBytes } from 'node:crypto'

/** Lower-case letters and digits in groups joined by single hyphens, of the first characters of a name. */
export function slugBase(name: string, length: number, fallback: string): string {
  const base = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .slice(0, length)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return base || fallback
}

/** The slug of a new schedule: 24 characters of its name and six hex digits, also for a name with no latin letter. */
export const mintSlug = (name: string): string => `${slugBase(name, 24, 'schedule')}-${randomBytes(3).toString('hex')}`

/** The same every time for the same name, for schedules that come from a file. */
export function slugOfFile(name: string): string {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 6)
  return `${slugBase(name, 24, 'schedule')}-${digest}`
}

export const isSlug = (text: string): boolean => text.length <= 80 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text)
