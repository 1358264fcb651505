import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testEdge } from '../../../test/support/edge.ts'
import { readSessionCookie } from '../auth.ts'
import { registerGraphiql } from './graphiql.ts'

async function graphiql() {
  const { app } = await testEdge()
  registerGraphiql(app, { personOf: async (request) => (readSessionCookie(request) === 'ana' ? {} : null) })
  return app
}

test('a person who is not signed in is sent to sign in', async () => {
  const app = await graphiql()
  for (const headers of [{}, { cookie: 'yardmaster_session=nobody' }, { authorization: 'Bearer full' }]) {
    const response = await app.inject({ url: '/graphiql', headers })
    assert.deepEqual([response.statusCode, response.headers.location], [303, '/signin?next=/graphiql'])
    assert.doesNotMatch(response.body, /script/)
  }
})

test('the page has no script or style inside it, and its policy allows none', async () => {
  const app = await graphiql()
  const response = await app.inject({ url: '/graphiql', headers: { cookie: 'yardmaster_session=ana' } })
  assert.equal(response.statusCode, 200)
  assert.equal(response.headers['cache-control'], 'no-store')
  const policy = String(response.headers['content-security-policy'])
  assert.match(policy, /script-src 'self';/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe|https?:/)
  assert.doesNotMatch(response.body, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?:/)
  const files = [...response.body.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1]!)
  assert.equal(files.length, 6)
  for (const file of files) {
    const asset = await app.inject({ url: file })
    assert.equal(asset.statusCode, 200, file)
    assert.match(String(asset.headers['content-type']), file.includes('.css') ? /^text\/css/ : /^text\/javascript/)
    assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.ok(asset.rawPayload.length > 100)
  }
})

test('no other file is served', async () => {
  const app = await graphiql()
  const urls = [
    '/graphiql/assets/',
    '/graphiql/assets/package.json',
    '/graphiql/assets/..%2fgraphiql.ts',
    '/graphiql/assets/../health.ts',
    '/graphiql/assets/react.js/x',
    '/graphiql/',
  ]
  for (const url of urls) assert.equal((await app.inject({ url })).statusCode, 404, url)
})
