// argon2id with the parameters that OWASP gives as the minimum: 19 MiB, 2 passes, 1 lane; 48 ms each, and the loop
// goes on meanwhile. Stored in the PHC form, so that the parameters can be raised later and old hashes still verify.
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { invalidInput } from './errors.ts'

const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1
const TAG_LENGTH = 32

interface Parameters {
  readonly memory: number
  readonly passes: number
  readonly lanes: number
  readonly salt: Buffer
  readonly length: number
}

function derive(password: string, parameters: Parameters): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2(
      'argon2id',
      {
        message: Buffer.from(password.normalize('NFKC')),
        nonce: parameters.salt,
        parallelism: parameters.lanes,
        tagLength: parameters.length,
        memory: parameters.memory,
        passes: parameters.passes,
      },
      (error, tag) => (error ? reject(error) : resolve(tag)),
    )
  })
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await derive(password, { memory: MEMORY_KIB, passes: PASSES, lanes: LANES, salt, length: TAG_LENGTH })
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(salt)}$${unpadded(tag)}`
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

// Checked where there is no such person or password, so that the answer takes as long as for a wrong one.
const NOBODY = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(Buffer.alloc(16))}$${unpadded(Buffer.alloc(TAG_LENGTH))}`

export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const match = PHC.exec(stored ?? NOBODY)
  if (match === null) return false
  const expected = Buffer.from(match[5]!, 'base64')
  const tag = await derive(password, {
    memory: Number(match[1]),
    passes: Number(match[2]),
    lanes: Number(match[3]),
    salt: Buffer.from(match[4]!, 'base64'),
    length: expected.length,
  })
  return timingSafeEqual(tag, expected) && stored !== null
}

export function parsePassword(password: string): string {
  if (password.length < 10) throw invalidInput('password: at least 10 characters.')
  if (password.length > 1000) throw invalidInput('password: at most 1,000 characters.')
  return password
}
