import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { githubReceiver } from '../../../../test/receivers/github.ts'
import { gitlabReceiver } from '../../../../test/receivers/gitlab.ts'
import { callTool, reread, testSession, toolsOf } from '../../../../test/support/agent-service-tools.ts'
import { type TestApp, testApp } from '../../../../test/support/app.ts'
import { outgoingHttp } from '../../../adapters/outgoing-http.ts'
import { createIntegration } from '../../../app/integrations.ts'
import type { AgentSession } from '../../../domain/agent-session.ts'

let t: TestApp
const http = outgoingHttp({ allow: ['127.0.0.1'], allowHttp: true, timeoutMs: 2000 })
const github = await githubReceiver()
const gitlab = await gitlabReceiver()
before(async () => {
  t = await testApp()
})
after(async () => {
  await t.close()
  await github[Symbol.asyncDispose]()
  await gitlab[Symbol.asyncDispose]()
})

interface Opened {
  readonly title: string
  readonly body: string
  readonly head: string
  readonly base: string
}

const HOSTS = [
  {
    kind: 'github',
    receiver: github,
    opened: (): Opened[] =>
      github.pulls.map((one) => {
        const { title, body, head, base } = one as {
          title: string
          body: string
          head: { ref: string }
          base: { ref: string }
        }
        return { title, body, head: head.ref, base: base.ref }
      }),
  },
  {
    kind: 'gitlab',
    receiver: gitlab,
    opened: (): Opened[] =>
      gitlab.merges.map((one) => {
        const { title, description, source_branch, target_branch } = one as Record<string, string>
        return { title: title!, body: description!, head: source_branch!, base: target_branch! }
      }),
  },
] as const

const open = (session: AgentSession, input: Record<string, unknown>, secrets: string[] = []) =>
  callTool(t, toolsOf(t, session, { http }), session, 'open_pull_request', input, { secrets })

for (const { kind, receiver, opened } of HOSTS) {
  const placed = async (branch: string | undefined, more: object = {}): Promise<AgentSession> => {
    const workspace = await t.workspace()
    const settings = { apiUrl: receiver.url }
    await createIntegration(t.inside(workspace), { kind, name: '', settings, secrets: { token: receiver.token } })
    const repositoryUrl = `http://127.0.0.1:${receiver.port}/acme/shop.git`
    return await testSession(t, workspace, { repositoryUrl, ...(branch !== undefined && { branch }), ...more })
  }

  test(`${kind}: a request of the pushed branch is opened once, without secrets, and written down`, async () => {
    const session = await placed('fix')
    const input = { title: 'Mend\nit hunter2-secret', body: 'Because hunter2-secret.' }
    const first = await open(session, input, ['hunter2-secret'])
    assert.ok(!first.isError, first.text)
    assert.equal((await open(session, input, ['hunter2-secret'])).text, first.text)
    const mine = opened().filter((one) => one.head === `agent/${session.id}/fix`)
    assert.equal(mine.length, 1)
    assert.deepEqual([mine[0]!.title, mine[0]!.base], ['Mend it ***', 'main'])
    assert.match(mine[0]!.body, /^Because \*\*\*\.\n\nWritten by the agent worker, session [a-z0-9]{16}/)
    assert.match((await reread(t, session)).pullRequest, /^https:\/\/git(hub|lab)\.com\/acme\/shop\//)
    const listed = await callTool(t, toolsOf(t, session, { http }), session, 'list_pull_requests', {})
    assert.ok(listed.text.includes(`agent/${session.id}/fix`))
    assert.deepEqual(receiver.refused, [])
  })

  test(`${kind}: an answer that was lost makes no second one`, async () => {
    const session = await placed('lost')
    receiver.behave({ kind: 'answer lost' }, 1, 1)
    assert.ok((await open(session, { title: 'Once' })).isError)
    const again = await open(session, { title: 'Once' })
    assert.ok(!again.isError, again.text)
    assert.equal(opened().filter((one) => one.head === `agent/${session.id}/lost`).length, 1)
  })

  test(`${kind}: nothing is opened before a push, nor from or to another branch than the session's`, async () => {
    const none = await placed(undefined)
    assert.match((await open(none, { title: 'x' })).text, /commit and push first/)
    const session = await placed('own')
    const before = opened().length
    for (const more of [{ head: 'main' }, { base: 'production' }, { branch: 'other' }, { repository: 'evil/shop' }]) {
      assert.ok((await open(session, { title: 'x', ...more })).isError, JSON.stringify(more))
    }
    assert.equal(opened().length, before)
  })

  test(`${kind}: a refusal is told without the token, and the token goes to no other host`, async () => {
    const session = await placed('refused')
    receiver.behave({ kind: 'status', status: 403 }, 1)
    const { isError, text } = await open(session, { title: 'x' })
    assert.ok(isError && /answered 403/.test(text) && !text.includes(receiver.token))
    const asked = receiver.asked.length
    const other = await placed('elsewhere', { repositoryUrl: 'https://git.example.com/acme/shop.git' })
    const result = await open(other, { title: 'x' })
    assert.ok(!result.isError && /the pushed branch is the result.*elsewhere/.test(result.text), result.text)
    assert.equal(receiver.asked.length, asked)
  })
}

test('without an integration the pushed branch is the result', async () => {
  const session = await testSession(t, await t.workspace(), { branch: 'fix' })
  const { isError, text } = await open(session, { title: 'x' })
  assert.ok(!isError && text.includes(`agent/${session.id}/fix`))
  assert.equal((await reread(t, session)).pullRequest, '')
})
