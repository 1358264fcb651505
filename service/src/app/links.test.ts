import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Linked } from '../domain/signed-link.ts'
import { formatLink, parseLink } from '../domain/signed-link.ts'
import { Vault } from '../store/vault.ts'
import { openLink, signLink } from './links.ts'

const PUBLIC_URL = 'https://yard.example.com'
const keyOf = (name: string): Buffer => createHash('sha256').update(name).digest()

function signer(...keys: string[]) {
  const at = { now: new Date('2026-03-01T12:00:00Z') }
  const app = {
    vault: new Vault(keys.map(keyOf)),
    clock: { now: () => at.now },
    settings: { publicUrl: PUBLIC_URL, sessionHours: 1, workspaceHeader: 'X' },
  }
  return { app: app as unknown as Parameters<typeof openLink>[0], at }
}

const address = (url: string): string => url.slice(PUBLIC_URL.length)

const targetOf = (at: number): Linked =>
  at % 2 === 0
    ? { kind: 'file', id: 1 + at * 7919, name: `run_results-${at}.json` }
    : { kind: 'log', commandId: 1 + at * 104_729, stream: at % 4 === 1 ? 'stdout' : 'stderr' }

const opens = (app: Parameters<typeof openLink>[0], link: string): boolean => {
  try {
    openLink(app, link)
    return true
  } catch {
    return false
  }
}

test('every change of one bit of a thousand links is refused', { timeout: 300_000 }, (t) => {
  const { app } = signer('one', 'two')
  let changes = 0
  // A million refusals: nobody looks at where they came from.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  t.after(() => {
    Error.stackTraceLimit = stackTraceLimit
  })
  for (let at = 0; at < 1_000; at++) {
    const uid = createHash('sha256').update(String(at)).digest('hex').slice(0, 16)
    const link = address(signLink(app, targetOf(at), uid))
    assert.ok(opens(app, link))
    const bytes = Buffer.from(link, 'latin1')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      if (opens(app, bytes.toString('latin1'))) assert.fail(`${link} and ${bytes.toString('latin1')} are both taken`)
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      changes++
    }
  }
  t.diagnostic(`1,000 links, ${changes.toLocaleString('en')} changes, 0 taken`)
})

test('a link is for one thing, one workspace, one time and one key', () => {
  const { app, at } = signer('one')
  const link = address(signLink(app, { kind: 'file', id: 12, name: 'a.json' }, 'a'.repeat(16)))
  const { link: what, signature } = parseLink(link)!
  for (const other of [
    { ...what, to: { kind: 'file', id: 13, name: 'a.json' } },
    { ...what, to: { kind: 'file', id: 12, name: 'b.json' } },
    { ...what, to: { kind: 'log', commandId: 12, stream: 'stdout' } },
    { ...what, workspaceUid: 'b'.repeat(16) },
    { ...what, expires: what.expires + 1 },
    { ...what, kid: '0'.repeat(16) },
  ] as const) {
    assert.ok(!opens(app, formatLink(other, signature)), JSON.stringify(other))
  }
  for (const more of ['&x=1', '&w=x', '#x', ' ', '%00', '/', '?', '\n']) assert.ok(!opens(app, `${link}${more}`))
  assert.ok(!opens(signer('another').app, link), 'another key')
  assert.ok(opens(signer('new', 'one').app, link), 'an old key of the ring still opens it')
  at.now = new Date(at.now.getTime() + 299_000)
  assert.ok(opens(app, link))
  at.now = new Date(at.now.getTime() + 1_000)
  assert.ok(!opens(app, link), 'its time is over')
})
