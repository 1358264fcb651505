// What the settings in schema.ts are written with.
import { z } from 'zod'
import type { Rule } from './rules.ts'
import { Secret } from './secret.ts'

/** What a leaf says of itself in `.meta()`. */
export interface SettingMeta {
  /** The environment variable; a secret can also be given as a file named by `<env>_FILE`. */
  readonly env: string
  /** A sentence or two for the reference. */
  readonly description: string
  /** What a good value is, such that "is not <form>" and "set it to <form>" both read well. */
  readonly form: string
  readonly secret?: true
  readonly example?: string
  /** Where the default is made rather than fixed, how. */
  readonly defaultText?: string
}

// Checks the keys against SettingMeta, which zod's own type of meta does not do.
export const meta = (setting: SettingMeta) => ({ ...setting })

export const text = (rule: Rule) =>
  z.string().check((ctx) => {
    const wrong = rule(ctx.value)
    if (wrong) ctx.issues.push({ code: 'custom', input: ctx.value, message: wrong })
  })

export const secret = (rule: Rule) =>
  text(rule)
    .transform((value) => new Secret(value))
    .optional()

export const listOf = <T extends z.ZodType>(item: T) =>
  z.array(item).refine((list) => new Set(list.map((one) => String(one).toLowerCase())).size === list.length, {
    error: 'names something twice',
  })

export const whole = (min: number, max: number, fallback: number, setting: Omit<SettingMeta, 'form'>) =>
  z
    .int()
    .min(min)
    .max(max)
    .default(fallback)
    .meta(meta({ ...setting, form: `a whole number from ${min} to ${max}` }))
