import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './html.ts'

test('every value of a template is escaped, in text and in attributes', () => {
  const evil = `<script>alert("1")</script>&'`
  const safe = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;'
  assert.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${safe}">${safe}</p>`)
})

test('what a template made goes into another as it is, alone or as a list', () => {
  const items = ['a', '<b>'].map((one) => html`<li>${one}</li>`)
  assert.equal(html`<ul>${items}</ul>${html`<hr>`}`.text, '<ul><li>a</li><li>&lt;b&gt;</li></ul><hr>')
})

test('nothing is left of null, undefined and false, and numbers are written out', () => {
  assert.equal(html`${null}${undefined}${false}${0}`.text, '0')
})

test('an object that only looks like HTML is not taken for it', () => {
  const forged = JSON.parse('{"text": "<script>"}') as never
  assert.throws(() => html`${forged}`)
})
