// The way out of a sandbox. Names lead where the test says; what listens there is real, and so are the processes.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { couldNotRun } from '../../../test/support/could-not-run.ts'
import { freshFolder, processesWith } from '../../../test/support/executor.ts'
import type { SandboxResult } from '../../ports/agent-sandbox.ts'
import { isListed, parseAuthority, startEgressProxy } from './egress-proxy.ts'
import { probeSandbox } from './probe.ts'

const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.headers.host}${request.url}`)
  let body = ''
  request.on('data', (text) => (body += String(text)))
  request.on('end', () => response.end(`answer ${body} ${request.headers['proxy-authorization'] ?? 'clean'}\n`))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
// It ends with the tests: when a hook for the end of all of them comes is not certain in a file that waits at its top.
server.unref()
const { port } = server.address() as AddressInfo

test('hosts are compared whole, in lower case, with their port', () => {
  const list = ['pypi.org', '*.pythonhosted.org', 'Example.COM.', 'other.test:8443']
  const is = (host: string, on = 443): boolean => isListed(list, { host, port: on })
  for (const host of ['pypi.org', 'files.pythonhosted.org', 'a.b.pythonhosted.org', 'example.com'])
    assert.ok(is(host), host)
  assert.ok(is('pypi.org', 80) && is('other.test', 8443))
  for (const host of [
    'evil-pypi.org',
    'pypi.org.evil.test',
    'x.pypi.org',
    'pythonhosted.org',
    '.pythonhosted.org',
    'evilpythonhosted.org',
    '',
    'other.test',
  ])
    assert.ok(!is(host), host)
  for (const on of [22, 25, 5432, 8080]) assert.ok(!is('pypi.org', on), String(on))
  assert.ok(!isListed(['*.', '*', ''], { host: 'a.b', port: 443 }))
})

test('what a client names is a host and a port, or refused', () => {
  assert.deepEqual(parseAuthority('PyPI.org.:443'), { host: 'pypi.org', port: 443 })
  assert.deepEqual(parseAuthority('[::1]:80'), { host: '::1', port: 80 })
  for (const text of [
    '',
    'pypi.org',
    ':443',
    'a b:443',
    'pypi.org:443/x',
    'user@pypi.org:443',
    'pypi.org:99999999',
    'pypi.org\r\nx:443',
    '[pypi.org]:443',
    'pypi.org#:443',
  ])
    assert.equal(parseAuthority(text), null, text)
})

/** What the proxy answers to these bytes. */
function say(socket: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const near = connect(socket, () => near.write(text))
    let heard = ''
    near.on('data', (bytes) => (heard += String(bytes)))
    near.on('close', () => resolve(heard))
    near.on('error', reject)
    near.setTimeout(10_000, () => near.destroy(new Error('no end')))
  })
}

test('addresses are judged after the name: what leads to this machine or a private network is refused', async () => {
  using place = freshFolder()
  const socket = join(place.path, 'proxy')
  const leads: Record<string, string[]> = {
    'inside.test': ['127.0.0.1'],
    'private.test': ['10.1.2.3'],
    'metadata.test': ['169.254.169.254'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'six.test': ['::1'],
    'nothing.test': [],
  }
  const hosts = [...Object.keys(leads), '127.0.0.1', '169.254.169.254', 'unknown.test'].flatMap((host) => [
    host,
    `${host}:${port}`,
  ])
  const resolve = async (host: string) => leads[host] ?? Promise.reject(new Error('not found'))
  const proxy = await startEgressProxy(socket, hosts, { allow: [], resolve })
  const before = asked.length
  for (const host of Object.keys(leads).concat('127.0.0.1', '169.254.169.254')) {
    assert.match(await say(socket, `CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`), /^HTTP\/1.1 403/, host)
    assert.match(
      await say(socket, `GET http://${host}:${port}/ HTTP/1.1\r\nhost: pypi.org\r\n\r\n`),
      /^HTTP\/1.1 403/,
      host,
    )
  }
  assert.match(await say(socket, `CONNECT unknown.test:443 HTTP/1.1\r\n\r\n`), /^HTTP\/1.1 502/)
  for (const text of [
    'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET https://inside.test/ HTTP/1.1\r\nhost: x\r\n\r\n',
    `GET http://user:x@inside.test:${port}/ HTTP/1.1\r\nhost: x\r\n\r\n`,
  ])
    assert.match(await say(socket, text), /^HTTP\/1.1 400/, text)
  assert.equal(asked.length, before, 'nobody was asked')
  assert.ok(proxy.blocked().includes(`inside.test:${port}`) && proxy.blocked().includes(`169.254.169.254:${port}`))
  await proxy.close()
})

for (const kind of ['bubblewrap', 'namespaces'] as const) {
  const probed = await probeSandbox({
    wanted: kind,
    hidden: [],
    outgoing: {
      allow: ['127.0.0.1'],
      resolve: async (host) => (host.endsWith('.test') ? ['127.0.0.1'] : []),
    },
    container: null,
    ...(process.env.YARDMASTER_TEST_BUBBLEWRAP !== undefined && { bubblewrap: process.env.YARDMASTER_TEST_BUBBLEWRAP }),
  })
  const { sandbox } = probed
  if (sandbox === null || sandbox.noEgress !== null) {
    couldNotRun(`the way out of ${kind}`, sandbox?.noEgress ?? probed.why)
    continue
  }
  after(() => probed.close())

  describe(kind, () => {
    const place = freshFolder()
    after(() => place[Symbol.dispose]())
    const run = (text: string, environment: Record<string, string> = {}): Promise<SandboxResult> =>
      sandbox.run(
        {
          text,
          folder: place.path,
          ...{ readOnly: [], environment, seconds: 60, outputBytes: 50_000 },
          egressHosts: [`allowed.test:${port}`, '169.254.169.254'],
        },
        new AbortController().signal,
      )

    test('an allowed host is reached by the proxy of the environment, and no other', async () => {
      const ask = (host: string) =>
        `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'POST http://${host}/path HTTP/1.1\\r\\nhost: evil.test\\r\\ncontent-length: 4\\r\\nconnection: close\\r\\nproxy-authorization: x\\r\\n\\r\\nbody' >&3; timeout 10 cat <&3; exec 3>&-`
      const tunnel = (host: string) =>
        `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT ${host} HTTP/1.1\\r\\n\\r\\nGET /tunnel HTTP/1.1\\r\\nhost: inner\\r\\nconnection: close\\r\\n\\r\\n' >&3; timeout 10 cat <&3; exec 3>&-`
      const done = await run(
        [
          'echo "proxy is $https_proxy $HTTP_PROXY"',
          ask(`allowed.test:${port}`),
          tunnel(`allowed.test:${port}`),
          ask(`other.test:${port}`),
          tunnel(`other.test:${port}`),
          tunnel('169.254.169.254:80'),
          `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached`,
          'exit 5',
        ].join('\n'),
      )
      assert.equal(done.code, 5)
      assert.match(done.output, /proxy is http:\/\/127.0.0.1:3128 http:\/\/127.0.0.1:3128/)
      assert.equal(done.output.match(/answer body clean/g)?.length, 1, done.output)
      assert.match(done.output, /200 Connection Established.*answer {2}clean/s)
      assert.equal(done.output.match(/403 Forbidden/g)?.length, 3)
      assert.doesNotMatch(done.output, /reached/)
      assert.deepEqual(done.blocked, [`other.test:${port}`, '169.254.169.254'])
      assert.ok(asked.includes(`POST allowed.test:${port}/path`), 'the name of the address counts, not the header')
      assert.ok(asked.includes('GET inner/tunnel'))
    })

    test('the forwarder obeys nothing of the command, and ends with it', async () => {
      const done = await run(`echo "$NODE_OPTIONS"; ls -A /tmp | grep "^\\.egress"`, {
        NODE_OPTIONS: '--require /etc/passwd',
      })
      assert.equal(done.output, '--require /etc/passwd\n')
      assert.deepEqual(processesWith('yardmaster-egress-'), [])
    })
  })
}
