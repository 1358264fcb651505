import { randomBytes, randomInt } from 'node:crypto'

const UID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const pick = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** The public name of a workspace or a person: 16 lower-case letters and digits. */
export const newUid = (): string => pick(UID_ALPHABET, 16)

export const newPublicKeyId = (): string => pick(BASE62, 12)

/** 256 random bits as 43 letters and digits. */
export const newSecret = (): string => base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)

export function base62(value: bigint, length: number): string {
  let rest = value
  let text = ''
  while (text.length < length) {
    text = BASE62[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}
