// Signing and checking links that work without credentials. What they lead to is looked up again when they are used.
import { timingSafeEqual } from 'node:crypto'
import { forbidden } from '../domain/errors.ts'
import type { Link, Linked } from '../domain/signed-link.ts'
import { formatLink, parseLink, signedText } from '../domain/signed-link.ts'
import type { App } from './context.ts'

const LIFETIME_SECONDS = 300

type Signer = Pick<App, 'vault' | 'clock' | 'settings'>

const secondsOf = (app: Signer): number => Math.floor(app.clock.now().getTime() / 1000)

export function signLink(app: Signer, to: Linked, workspaceUid: string): string {
  const link: Link = { to, workspaceUid, expires: secondsOf(app) + LIFETIME_SECONDS, kid: app.vault.kid }
  return app.settings.publicUrl + formatLink(link, app.vault.linkMac(signedText(link))!.toString('base64url'))
}

/** @param address path and query exactly as they came */
export function openLink(app: Signer, address: string): Link {
  const parsed = parseLink(address)
  const mac = parsed && app.vault.linkMac(signedText(parsed.link), parsed.link.kid)
  // The written forms are compared, because the last letter of base64 can be written in four ways.
  const good = mac !== null && timingSafeEqual(Buffer.from(mac.toString('base64url')), Buffer.from(parsed!.signature))
  // One text for altered and expired: there is one thing to do about both.
  if (!good || parsed!.link.expires <= secondsOf(app)) {
    throw forbidden('This link has expired or is not whole: ask for a new one.')
  }
  return parsed!.link
}
