// Options and values that several commands share.
import { type Argument, InvalidArgumentError } from 'commander'
import type { AccountType } from '../domain/account-type.ts'
import { ACCOUNT_TYPES, isAccountType } from '../domain/account-type.ts'
import { arg } from './command.ts'

export const WORKSPACE = ['--workspace <uid>', 'the workspace; may be left out when there is only one'] as const

/** For options that take several values, written apart, with commas, or by repeating the option. */
export const several = (value: string, before: string[] | undefined): string[] => [
  ...(before ?? []),
  ...value.split(',').map((one) => one.trim()),
]

export function accountType(text: string): AccountType {
  const word = text.toUpperCase().replaceAll('-', '_')
  if (!isAccountType(word)) throw new InvalidArgumentError(`Allowed are ${ACCOUNT_TYPES.join(', ')}.`)
  return word
}

/** The number of something, from 1 on. */
export const numberArg = (name: string, description: string): Argument =>
  arg(name, description).argParser((text: string) => String(wholeNumber(1, 2 ** 31 - 1)(text)))

export const wholeNumber =
  (from: number, to: number) =>
  (text: string): number => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= from && number <= to))
      throw new InvalidArgumentError(`A whole number from ${from} to ${to} is needed.`)
    return number
  }
