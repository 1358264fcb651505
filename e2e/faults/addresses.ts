/**
 * Ways to write an address that nobody outside may reach through the service (S10): a network of its own in which every
 * one of them leads to a listener. With the check none reaches it; with everything allowed they do.
 */
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { outgoingHttp } from '../../service/src/adapters/outgoing-http.ts'
import { OutgoingFault } from '../../service/src/ports/outgoing-http.ts'
import { ADDRESS_FORMS, EXTRA_ADDRESSES, formUrl, listenEverywhere } from '../../service/test/support/address-forms.ts'
import { startClock, summary } from '../support/report.ts'

const INSIDE = 'inside'

if (process.argv[2] === INSIDE) await prove('with')
else await enter()

/** A network namespace with all the addresses on its loopback interface; without the right to make one, this machine. */
async function enter(): Promise<void> {
  const lo = 'ip link set lo up'
  if (spawnSync('unshare', ['--net', '--', 'sh', '-c', lo]).status !== 0) return await prove('without')
  const add = EXTRA_ADDRESSES.map((one) => `ip addr add ${one} dev lo`)
  const script = `${lo} && ${add.join(' && ')} && exec "$0" "$1" ${INSIDE}`
  const argv = ['--net', '--', 'sh', '-c', script, process.execPath, process.argv[1]!]
  process.exitCode = spawnSync('unshare', argv, { stdio: 'inherit' }).status ?? 1
}

async function prove(network: 'with' | 'without'): Promise<void> {
  const clock = startClock()
  await using listeners = await listenEverywhere()
  const { port } = listeners
  const guarded = outgoingHttp({ allow: [], allowHttp: true, timeoutMs: 3000 })
  const open = outgoingHttp({ allow: ['0.0.0.0/0', '::/0'], allowHttp: true, timeoutMs: 3000 })
  const call = async (http: typeof guarded, url: string): Promise<'answered' | 'refused' | 'failed'> => {
    try {
      await http.call({ method: 'GET', url, headers: {} }, new AbortController().signal)
      return 'answered'
    } catch (error) {
      return error instanceof OutgoingFault && error.refused ? 'refused' : 'failed'
    }
  }

  let refused = 0
  for (const form of ADDRESS_FORMS) if ((await call(guarded, formUrl(form, port))) === 'refused') refused++
  const names = await callNames(port)
  const redirects = await callRedirects(port)
  const reachedWithCheck = listeners.accepted

  const leading = ADDRESS_FORMS.filter((form) =>
    network === 'with' ? form.place !== 'nowhere' : form.place === 'loopback',
  )
  let reached = 0
  for (const form of leading) {
    if ((await call(open, formUrl(form, port))) === 'answered') reached++
    else console.log(`does not lead to the listener even when it is allowed: ${form.url}`)
  }
  if (network === 'without') console.log('no network of its own: link-local, private and translated forms lead nowhere')
  summary('addresses that must not be reached', clock, [
    ['forms', ADDRESS_FORMS.length, (n) => n >= 60],
    ['  refused', refused, (n) => n === ADDRESS_FORMS.length],
    ['names that lead or turn inside', names, (n) => n === 6],
    ['redirects inside, not followed', redirects, (n) => n === 5],
    ['connections that a listener accepted', reachedWithCheck, (n) => n === 0],
    ['forms that lead to the listener without the check', leading.length],
    ['  that reached it', reached, (n) => n === leading.length],
  ])
}

/** Names that resolve inside, at once or at the second look; how many were refused or led nowhere. */
async function callNames(port: number): Promise<number> {
  const inside = ['127.0.0.1', '::1', '10.1.2.3', '169.254.169.254', '::ffff:127.0.0.1']
  let held = 0
  for (const address of inside) {
    const http = outgoingHttp({ allow: [], allowHttp: true, timeoutMs: 1000, resolve: async () => [address] })
    const asked = http.call(
      { method: 'GET', url: `http://name.example:${port}/`, headers: {} },
      AbortSignal.timeout(2000),
    )
    if (
      await asked.then(
        () => false,
        (error: unknown) => error instanceof OutgoingFault && error.refused,
      )
    )
      held++
  }
  // Good at the first look, loopback at every later one.
  let looks = 0
  const resolve = async (): Promise<string[]> => (++looks === 1 ? ['192.0.1.1'] : ['127.0.0.1'])
  const turning = outgoingHttp({ allow: [], allowHttp: true, timeoutMs: 1000, resolve })
  const url = `http://turning.example:${port}/`
  await turning.call({ method: 'GET', url, headers: {} }, AbortSignal.timeout(2000)).catch(() => {})
  return looks === 1 ? held + 1 : held
}

async function callRedirects(port: number): Promise<number> {
  let held = 0
  for (const status of [301, 302, 303, 307, 308]) {
    const server = createServer((_request, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '::1', resolve))
    const url = `http://[::1]:${(server.address() as AddressInfo).port}/`
    const http = outgoingHttp({ allow: ['::1'], allowHttp: false })
    const answer = await http.call({ method: 'GET', url, headers: {} }, AbortSignal.timeout(5000))
    if (answer.status === status) held++
    server.close()
  }
  return held
}
