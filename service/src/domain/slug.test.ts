import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSlug, mintSlug, slugOfFile } from './slug.ts'

const NAMES = [
  'Daily sales',
  '  --Daily--sales--  ',
  'ежедневный отчёт',
  '日次レポート',
  '🚀🚀🚀',
  '-',
  '____',
  'Ünïcödé ßtraße',
  'İstanbul',
  'a'.repeat(128),
  'a-'.repeat(64),
  `${'x'.repeat(23)}-tail`,
  `${'x'.repeat(24)}-tail`,
  'ﬃ ligature',
  '№ 5',
  '０１２',
  'Ω-3',
  '١٢٣',
  '1',
]

test('every name gets a slug of the agreed form, also one with no latin letter', () => {
  const alphabet = [...'abcXYZ019 -_./äßÉжя日本🚀İﬃ№٣\u0301\u200b']
  let seed = 1
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let round = 0; round < 10_000; round++) {
    const name =
      NAMES[round] ?? Array.from({ length: 1 + random(40) }, () => alphabet[random(alphabet.length)]).join('')
    const slug = mintSlug(name)
    assert.ok(isSlug(slug), `${JSON.stringify(name)} gave ${slug}`)
    assert.match(slug, /^.{1,24}-[0-9a-f]{6}$/, name)
  }
})

test('what is readable of the first 24 characters stays', () => {
  assert.match(mintSlug('Daily sales'), /^daily-sales-[0-9a-f]{6}$/)
  assert.match(mintSlug('Ünïcödé'), /^unicode-[0-9a-f]{6}$/)
  assert.match(mintSlug('日次レポート'), /^schedule-[0-9a-f]{6}$/)
  assert.match(mintSlug('My very long schedule name'), /^my-very-long-schedule-na-[0-9a-f]{6}$/)
})

test('the same name gets another slug each time, and in a file the same one', () => {
  assert.equal(new Set(Array.from({ length: 100 }, () => mintSlug('same'))).size, 100)
  assert.equal(slugOfFile('same'), slugOfFile('same'))
  assert.ok(isSlug(slugOfFile('ночь')))
})

test('what is no slug is told apart', () => {
  for (const text of ['', '-a', 'a-', 'a--b', 'A', 'a_b', 'a b', 'é', 'a'.repeat(81)]) assert.equal(isSlug(text), false)
  for (const text of ['a', 'a-b', '0', 'a'.repeat(80)]) assert.equal(isSlug(text), true)
})
