import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf, normalised } from './healing.ts'
import type { RunReport } from './run-report.ts'

type Facts = Parameters<typeof causeOf>[0]

const command = (lastLines: readonly string[], text = 'dbt build'): RunReport['commands'][number] => ({
  id: 1,
  command: text,
  kind: 'user',
  state: 'failed',
  startDttm: '',
  endDttm: '',
  returnCode: 1,
  lastLines,
  jsonResources: [],
})

const facts = (commands: Facts['commands'], failedNodes: Facts['failedNodes'] = []): Facts => ({
  run: { detail: '' } as RunReport['run'],
  commands,
  failedNodes,
})

test('times, numbers, ids and temporary places do not make another cause', () => {
  const first = ['12:03:11  Database Error in model orders', 'took 3.21s, id 9f1c2b3a4d5e6f70', 'see /tmp/run-1/x.log']
  const later = ['23:59:01  Database Error in model orders', 'took 11.9s, id 00aa11bb22cc33dd', 'see /tmp/run-77/x.log']
  assert.equal(causeOf(facts([command(first)])), causeOf(facts([command(later)])))
  assert.equal(normalised('  At 2026-03-02 09:00:00.123  '), 'at # #')
})

test('another command, another message or another node is another cause', () => {
  const one = causeOf(facts([command(['boom'])]))
  assert.notEqual(one, causeOf(facts([command(['bang'])])))
  assert.notEqual(one, causeOf(facts([command(['boom'], 'dbt run')])))
  const node = (uniqueId: string, message = 'bad column') => ({ uniqueId, status: 'error', message })
  const nodes = causeOf(facts([command(['boom'])], [node('model.shop.orders')]))
  assert.notEqual(one, nodes)
  assert.notEqual(nodes, causeOf(facts([command(['boom'])], [node('model.shop.customers')])))
})

test('where dbt names what failed, the order and the noise around it do not count', () => {
  const nodes = ['b', 'a'].map((name) => ({ uniqueId: `model.shop.${name}`, status: 'error', message: 'line 3' }))
  const turned = [...nodes].reverse().map((one) => ({ ...one, message: 'line 4' }))
  assert.equal(causeOf(facts([command(['x'])], nodes)), causeOf(facts([command(['other noise'])], turned)))
})
