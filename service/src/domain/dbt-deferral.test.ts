import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deferralOf, withoutState, withState } from './dbt-deferral.ts'

test('a dbt command that takes a state is told where it is, seen from its project', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['dbt build', 'dbt build --state .yardmaster/state'],
    [
      'dbt build --select state:modified+ --defer',
      'dbt build --select state:modified+ --defer --state .yardmaster/state',
    ],
    ['dbt --quiet ls  ', 'dbt --quiet ls --state .yardmaster/state'],
    ['dbt run --project-dir shop', 'dbt run --project-dir shop --state ../.yardmaster/state'],
    ["dbt run --project-dir='a/b c'", "dbt run --project-dir='a/b c' --state ../../.yardmaster/state"],
    ['dbt run --project-dir ./', 'dbt run --project-dir ./ --state .yardmaster/state'],
    ['dbt source freshness', 'dbt source freshness --state .yardmaster/state'],
  ]
  for (const [text, expected] of cases) assert.equal(withState(text), expected)
})

test('a command that takes no state, names its own or is more than one stays as it is', () => {
  for (const text of [
    'dbt deps',
    'dbt retry',
    'dbt retry --project-dir shop',
    'dbt run-operation clean',
    'dbt build --state elsewhere',
    'dbt build --state=elsewhere',
    'dbt build --defer-state elsewhere --defer',
    'dbt build --project-dir /srv/shop',
    'dbt build --project-dir ../shop',
    'cd shop && dbt build',
    'dbt build | tee log',
    'echo dbt build',
  ]) {
    assert.equal(withState(text), text)
    if (!text.includes('--defer')) assert.equal(withoutState(text), text)
  }
})

test('without a state the command loses what needs one, and builds everything else that it named', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['dbt build --select state:modified+ --defer', 'dbt build'],
    ['dbt build -s state:modified+ tag:nightly --favor-state', 'dbt build -s tag:nightly'],
    ['dbt build --select "state:modified+ tag:nightly"', 'dbt build --select tag:nightly'],
    ['dbt build --select=2+state:modified.body,tag:nightly -t prod', 'dbt build --select tag:nightly -t prod'],
    ['dbt build --select result:error+ source_status:fresher+ --threads 4', 'dbt build --threads 4'],
    ['dbt build --exclude state:old,tag:big tag:slow', 'dbt build --exclude tag:slow'],
    ['dbt test --models +state:new', 'dbt test'],
  ]
  for (const [text, expected] of cases) assert.equal(withoutState(text), expected)
  for (const text of ['dbt build', "dbt build  --select 'tag:nightly  orders'", 'dbt build --vars state:x']) {
    assert.equal(withoutState(text), text)
  }
})

test('a pull request defers as Turbo CI says, another run as the schedule does', () => {
  const own = { enabled: true, slug: null, successfulRunOnly: true }
  const ci = { enabled: true, slug: 'nightly', successfulRunOnly: false }
  const off = { ...own, enabled: false }
  assert.equal(deferralOf({ prNumber: 7, turboCi: ci, deferredSchedule: own }), ci)
  assert.equal(deferralOf({ prNumber: null, turboCi: ci, deferredSchedule: own }), own)
  assert.equal(deferralOf({ prNumber: 7, turboCi: off, deferredSchedule: own }), own)
  assert.equal(deferralOf({ prNumber: null, turboCi: ci, deferredSchedule: off }), null)
  assert.equal(deferralOf({ prNumber: null, turboCi: ci, deferredSchedule: null }), null)
})
