import type { App } from '../../app/context.ts'
import type { RefusalRecorder } from '../../app/refusals.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { SignInLimiter } from '../sign-in-limit.ts'

export interface PagesOptions {
  readonly app: App
  readonly refusals: RefusalRecorder
  readonly limiter: SignInLimiter
  readonly ownOrigins: () => ReadonlySet<string>
  /** Null where single sign-on is not set up. */
  readonly provider: IdentityProvider | null
  /** Whether an error says that the database does not answer. */
  readonly isUnavailable: (error: unknown) => boolean
}
