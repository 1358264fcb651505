import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { DEFAULT_POLICY, narrowBudget } from '../domain/agent-policy.ts'
import { DEFAULT_BUDGET } from '../domain/agent-session.ts'
import { AppError } from '../domain/errors.ts'
import type { AgentPolicyInput } from './agent-policy.ts'
import { getAgentPolicy, setAgentPolicy } from './agent-policy.ts'

let t: TestApp
before(async () => {
  t = await testApp()
})
after(async () => {
  await t.close()
})

test('a workspace without a policy has the defaults, and changes one field at a time, each with its record', async () => {
  const [here, there] = [t.inside(await t.workspace('Here')), t.inside(await t.workspace('There'))]
  assert.deepEqual(await getAgentPolicy(here), DEFAULT_POLICY)
  await setAgentPolicy(here, { tools: ['read_file', 'mcp_tickets_search', 'read_file'] })
  await setAgentPolicy(here, { egressHosts: ['PyPI.org', '*.pythonhosted.org', 'pypi.org'], commitName: ' Yard ' })
  await setAgentPolicy(here, { budget: { steps: 10, tokens: 500 }, commitEmail: 'agents@example.com' })
  const policy = await setAgentPolicy(here, { budget: { tokens: null } })
  assert.deepEqual(policy, {
    tools: ['read_file', 'mcp_tickets_search'],
    egressHosts: ['pypi.org', '*.pythonhosted.org'],
    budget: { steps: 10 },
    commitName: 'Yard',
    commitEmail: 'agents@example.com',
  })
  assert.deepEqual(await getAgentPolicy(here), policy)
  assert.deepEqual(await getAgentPolicy(there), DEFAULT_POLICY)
  // The same again changes nothing and leaves no record.
  await setAgentPolicy(here, policy)
  const records = await t.records('agent_policy_changed')
  assert.deepEqual(
    records.map((one) => Object.keys(one.data).filter((key) => key !== 'by')),
    [['tools'], ['egressHosts', 'commitName'], ['budget', 'commitEmail'], ['budget']],
  )
  assert.deepEqual(records[3]!.data.budget, { from: { steps: 10, tokens: 500 }, to: { steps: 10 } })
  assert.deepEqual((await setAgentPolicy(here, { tools: null, commitEmail: '' })).tools, null)
})

test('an empty list of tools is no tool at all, which is not every tool', async () => {
  const ctx = t.inside(await t.workspace())
  await setAgentPolicy(ctx, { tools: [] })
  assert.deepEqual((await getAgentPolicy(ctx)).tools, [])
})

test('two changes at once are both kept', async () => {
  const ctx = t.inside(await t.workspace())
  await Promise.all([
    setAgentPolicy(ctx, { egressHosts: ['pypi.org'] }),
    setAgentPolicy(ctx, { commitName: 'Yard' }),
    setAgentPolicy(ctx, { budget: { steps: 5 } }),
  ])
  const { egressHosts, commitName, budget } = await getAgentPolicy(ctx)
  assert.deepEqual([egressHosts, commitName, budget], [['pypi.org'], 'Yard', { steps: 5 }])
})

test('what cannot be meant is refused with what to do', async () => {
  const ctx = t.inside(await t.workspace())
  const cases: [AgentPolicyInput, RegExp][] = [
    [{ tools: ['reed_file'] }, /^tools: there is no tool "reed_file"\. Did you mean read_file\?$/],
    [{ egressHosts: ['https://pypi.org/simple'] }, /^egressHosts: "https:.* is not the name of a host/],
    [{ egressHosts: ['*'] }, /egressHosts/],
    [{ egressHosts: ['pypi.org:443'] }, /egressHosts/],
    [{ egressHosts: ['10.0.0.1'] }, /egressHosts/],
    [{ egressHosts: ['[::1]'] }, /egressHosts/],
    [{ egressHosts: ['*.*.org'] }, /egressHosts/],
    [{ egressHosts: [''] }, /egressHosts/],
    [{ budget: { steps: 0 } }, /^budget\.steps: a whole number of at least 1, not 0/],
    [{ budget: { tokens: 1.5 } }, /^budget\.tokens/],
    [{ budget: { costMicrodollars: Number.NaN } }, /^budget\.costMicrodollars/],
    [{ commitName: 'a <b@example.com>' }, /^commitName/],
    [{ commitName: 'a\nb' }, /^commitName/],
    [{ commitEmail: 'nobody' }, /^commitEmail/],
  ]
  for (const [input, expected] of cases) {
    const refused = await setAgentPolicy(ctx, input).catch((error: unknown) => error)
    assert.ok(refused instanceof AppError, JSON.stringify(input))
    assert.match(refused.message, expected)
  }
  assert.deepEqual(await getAgentPolicy(ctx), DEFAULT_POLICY)
})

test('a budget is the smaller of the deployment’s and the workspace’s, never a wider one', () => {
  assert.deepEqual(narrowBudget(DEFAULT_BUDGET, { steps: 5, seconds: 1e9 }), { ...DEFAULT_BUDGET, steps: 5 })
  assert.deepEqual(narrowBudget(DEFAULT_BUDGET, {}), DEFAULT_BUDGET)
})
