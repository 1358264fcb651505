import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failedReport, hostileReport, notice, passedReport } from '../../../test/support/reports.ts'
import { hasControl } from '../text.ts'
import { renderMail } from './mail.ts'
import { renderSlack } from './slack.ts'
import { renderTeams } from './teams.ts'
import { fill, PLACEHOLDERS, parseTemplateSubject, parseTemplateText } from './template.ts'

const template = (text: string, subject = '') => ({ slug: 'ours', name: 'Ours', subject, text })

test('every placeholder is filled, for a run with everything and for one with little', () => {
  const all = Object.keys(PLACEHOLDERS)
    .map((name) => `${name}={{${name}}}`)
    .join('\n')
  for (const report of [failedReport, passedReport]) {
    const filled = fill(all, report, 'failed', (value) => value)
    assert.doesNotMatch(filled, /\{\{|undefined|=null|NaN/)
  }
  assert.match(
    fill('{{ run.state }}/{{run.id}}', failedReport, 'failed', (value) => value),
    /^ERROR\/412$/,
  )
})

test('the words of a workspace take the place of ours in each channel, with the links still there', () => {
  const one = notice(
    'failed',
    failedReport,
    template('*{{schedule.name}}* is red: {{failures.names}}', 'Red: {{schedule.name}}'),
  )
  const slack = renderSlack(one)
  assert.deepEqual(slack.blocks[0], {
    type: 'section',
    text: { type: 'mrkdwn', text: '*Nightly build* is red: orders (model), not_null_customers_id (test)' },
  })
  assert.equal(slack.blocks.at(-1)!.type, 'actions')
  const card = renderTeams(one).attachments[0].content
  assert.match(String(card.body[0]!.text), /^\*Nightly build\* is red: orders \\\(model\\\)/)
  assert.equal(card.actions.length, 2)
  const mail = renderMail(one)
  assert.equal(mail.subject, 'Red: Nightly build')
  assert.match(mail.text, /^\*Nightly build\* is red: .*\n\nRun: https/s)
  assert.match(mail.html, /\*Nightly build\* is red: orders \(model\)/)
})

test('a value cannot hold a placeholder, markup or a line too many', () => {
  const text = '<b>{{schedule.name}}</b> {{run.reason}} {{command.output}}'
  const one = notice('failed', hostileReport, template(text, '{{schedule.name}}\u0007{{run.detail}}'))
  const mail = renderMail(one)
  assert.doesNotMatch(mail.html, /<b>|<img|<script/)
  assert.match(mail.html, /\{\{run\.id\}\}/)
  assert.ok(!hasControl(mail.subject))
  const slack = JSON.stringify(renderSlack(one).blocks)
  assert.doesNotMatch(slack.replaceAll('<b>', '').replaceAll('</b>', ''), /</)
  for (const block of renderSlack(one).blocks) {
    const own = (block as { text?: { text: string } }).text?.text ?? ''
    assert.ok(own.length <= 3000)
  }
})

test('a template with an unknown placeholder, half a one, nothing or too much is refused, with what there is', () => {
  assert.throws(
    () => parseTemplateText('{{run.secret}}'),
    /text: "\{\{run\.secret\}\}" is no placeholder\. There are: headline/,
  )
  assert.throws(() => parseTemplateText('{{constructor}}'), /no placeholder/)
  assert.throws(() => parseTemplateText('{{run.state}'), /two braces/)
  assert.throws(() => parseTemplateText('{{#each x}}{{/each}}'), /no placeholder/)
  assert.throws(() => parseTemplateText('  '), /must not be empty/)
  assert.throws(() => parseTemplateText('x'.repeat(10_001)), /at most 10000/)
  assert.throws(() => parseTemplateText('a\0b'), /NUL/)
  assert.throws(() => parseTemplateSubject('a\nb'), /one line/)
  assert.equal(parseTemplateText('{{ run.state }} of {{schedule.name}}'), '{{ run.state }} of {{schedule.name}}')
  assert.equal(parseTemplateSubject(' x '), 'x')
})

test('a placeholder that is gone since the template was saved stays for people to see', () => {
  assert.equal(
    fill('{{run.gone}}', failedReport, 'failed', (value) => value),
    '{{run.gone}}',
  )
})
