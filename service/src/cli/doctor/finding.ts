import { messageOf } from '../errors.ts'

export interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** What to do; always there when something is not ok. */
  readonly advice?: string
}

type Seen = Omit<Finding, 'name'>

export const ok = (message: string): Seen => ({ status: 'ok', message })
export const warn = (message: string, advice: string): Seen => ({ status: 'warn', message, advice })
export const fail = (message: string, advice: string): Seen => ({ status: 'fail', message, advice })

/** A check that cannot even be made has failed, and the others go on. */
export async function check(name: string, advice: string, look: () => Promise<Seen> | Seen): Promise<Finding> {
  try {
    return { name, ...(await look()) }
  } catch (error) {
    return { name, ...fail(messageOf(error), advice) }
  }
}
