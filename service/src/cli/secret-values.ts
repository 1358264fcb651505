// Secrets as `name=value`, out of standard input or a file, never out of arguments: every user of a machine can read the
// arguments of a process.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { refusal } from './errors.ts'
import type { Cli } from './io.ts'

export type NamedValues = Readonly<Record<string, string>>

export const SECRETS_FROM_INPUT = [
  '--secrets',
  'read secrets from the standard input, as name=value, separated by spaces or line breaks',
] as const

/** `name=value`, repeated. */
export function namedValue(text: string, before: NamedValues | undefined): NamedValues {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write it as name=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** Undefined where none are given. */
export async function secretsFrom(
  options: { readonly secrets?: boolean; readonly secretsFile?: string },
  { io, cwd }: Pick<Cli, 'io' | 'cwd'>,
): Promise<NamedValues | undefined> {
  if (options.secretsFile !== undefined) return parsed(await readSecretFile(resolve(cwd, options.secretsFile)))
  return options.secrets === true ? parsed(await io.read('Secrets, as name=value')) : undefined
}

function parsed(text: string): NamedValues {
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) throw refusal('Give each secret as name=value; nothing was given.')
  return words.reduce<NamedValues>((all, word) => {
    if (!/^[^=]+=./.test(word)) throw refusal('Give each secret as name=value.')
    return namedValue(word, all)
  }, {})
}

async function readSecretFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw refusal(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'it failed'}.`)
  }
}
