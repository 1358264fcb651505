import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { callTool, contextFor, testSession, toolsOf } from '../../../../test/support/agent-service-tools.ts'
import { type TestApp, testApp } from '../../../../test/support/app.ts'
import { createIntegration } from '../../../app/integrations.ts'
import type { WorkspaceRef } from '../../../domain/actor.ts'

let t: TestApp
let workspace: WorkspaceRef
before(async () => {
  t = await testApp()
  workspace = await t.workspace()
  const secrets = { token: 'xoxb-long-enough' }
  await createIntegration(t.inside(workspace), { kind: 'slack', name: '', settings: {}, secrets })
})
after(() => t.close())

interface Queued {
  readonly address: string
  readonly body: { readonly text: string; readonly threadTs: string }
}

const queued = async (sessionId: string): Promise<Queued[]> => {
  const { rows } = await sql<Queued>`select address, body from delivery where line = ${`agent ${sessionId}`}
    order by created_at`.execute(t.app.db)
  return rows
}

test('a message goes to the place of the session, once for a call, without its secrets', async () => {
  const session = await testSession(t, workspace, { slack: { channel: 'C0ALERTS01', threadTs: '1700000000.000100' } })
  const tools = toolsOf(t, session)
  for (const call of ['a1', 'a1', 'a2']) {
    const options = { call, secrets: ['hunter2-secret'] }
    const { isError } = await callTool(t, tools, session, 'post_slack_message', { text: 'see hunter2-secret' }, options)
    assert.ok(!isError)
  }
  const body = { text: 'see ***', threadTs: '1700000000.000100' }
  assert.deepEqual(await queued(session.id), [
    { address: 'C0ALERTS01', body },
    { address: 'C0ALERTS01', body },
  ])
})

test('the file names the channel where the trigger does not; a target among the arguments changes nothing', async () => {
  const session = await testSession(t, workspace, { definition: { slackChannel: '#data' } })
  const tools = toolsOf(t, session)
  const evil = { text: 'x', channel: '#everybody', thread_ts: '1.000000', address: '#everybody' }
  assert.ok((await callTool(t, tools, session, 'post_slack_message', evil)).isError)
  // Also when the schema would not have been looked at.
  const tool = tools.find((one) => one.name === 'post_slack_message')!
  await tool.run(await contextFor(t, session), evil)
  assert.deepEqual(await queued(session.id), [{ address: '#data', body: { text: 'x', threadTs: '' } }])
})

test('a session without a place in Slack has no such tool, and one without an integration is told', async () => {
  const session = await testSession(t, workspace)
  assert.ok(!toolsOf(t, session).some((one) => one.name === 'post_slack_message'))
  const other = await testSession(t, await t.workspace(), { definition: { slackChannel: '#data' } })
  const result = await callTool(t, toolsOf(t, other), other, 'post_slack_message', { text: 'x' })
  assert.ok(result.isError && /no Slack integration/.test(result.text))
})
