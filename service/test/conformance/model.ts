// What every model keeps to, whatever is behind it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Model, ModelAnswer, ModelMessage, ModelRequest, ToolDeclaration } from '../../src/ports/model.ts'

export interface ModelUnderTest extends AsyncDisposable {
  readonly model: Model
  /** Makes it answer the next question with one call of `look`, and the one after with words. */
  prepare(): void
}

export const LOOK: ToolDeclaration = {
  name: 'list_directory',
  description: 'Lists a folder.',
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
}

export const question = (...messages: readonly ModelMessage[]): ModelRequest => ({
  agent: 'assistant',
  instructions: 'You help.',
  messages: messages.length > 0 ? messages : [{ role: 'user', text: 'hi' }],
  tools: [LOOK],
})

export const unhurried = (): AbortSignal => new AbortController().signal

export function modelConformance(name: string, make: () => Promise<ModelUnderTest>): void {
  describe(`a model: ${name}`, () => {
    test('calls a tool that was declared, is given the result, and ends with words', async () => {
      await using t = await make()
      t.prepare()
      const first = await t.model.answer(question(), unhurried())
      assert.equal(first.end, 'calls')
      assert.deepEqual(
        first.calls.map((call) => [call.tool, call.input]),
        [['list_directory', { path: '.' }]],
      )
      const last = await t.model.answer(question(...answered(first)), unhurried())
      assert.equal(last.end, 'end')
      assert.deepEqual(last.calls, [])
      assert.notEqual(last.text, '')
    })

    test('says what it is called, what it can read and how many tokens an answer took', async () => {
      await using t = await make()
      t.prepare()
      const { usage } = await t.model.answer(question(), unhurried())
      assert.notEqual(t.model.name, '')
      assert.ok(t.model.contextTokens >= 1000)
      assert.ok(usage !== null && usage.tokensIn >= usage.tokensCached && usage.tokensOut >= 0)
    })

    test('does nothing for who has given up already', async () => {
      await using t = await make()
      const why = new Error('the turn was stopped')
      await assert.rejects(t.model.answer(question(), AbortSignal.abort(why)), (error) => error === why)
    })
  })
}

/** The conversation with the results of all calls. */
export const answered = (answer: ModelAnswer, text = 'README.md'): ModelMessage[] => [
  { role: 'user', text: 'hi' },
  { role: 'assistant', text: answer.text, calls: answer.calls },
  { role: 'tool', results: answer.calls.map((call) => ({ call: call.id, tool: call.tool, text, isError: false })) },
]
