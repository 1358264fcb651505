import { inspect } from 'node:util'

const MASK = '[secret]'

/**
 * A text that must not be printed by accident: every way of turning it into text gives `[secret]`. The value is in a
 * private field, so spreading, cloning and inspecting without custom inspection do not show it either.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
    Object.freeze(this)
  }

  /** The value itself. Call it where it is used, and keep no copy. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return MASK
  }

  toJSON(): string {
    return MASK
  }

  [Symbol.toPrimitive](): string {
    return MASK
  }

  [inspect.custom](): string {
    return MASK
  }
}
