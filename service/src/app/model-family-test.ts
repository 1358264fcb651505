// Whether a model can do what agents need: it is asked for one tool call.
import { notFound } from '../domain/errors.ts'
import { SCRIPTED_FAMILY } from '../domain/model-family.ts'
import { quoted } from '../domain/text.ts'
import type { Model, ModelAnswer, ModelRequest, Models } from '../ports/model.ts'
import { ModelFault } from '../ports/model.ts'
import * as families from '../store/model-families.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'

export interface ModelTest {
  readonly ok: boolean
  readonly text: string
}

const PATIENCE_MS = 60_000

const WORD = 'yardmaster'

const QUESTION: ModelRequest = {
  agent: '',
  instructions: 'This is a test of whether you can call tools. Do exactly what you are asked, and nothing else.',
  messages: [{ role: 'user', text: `Call the tool echo with the text ${WORD}.` }],
  tools: [
    {
      name: 'echo',
      description: 'Answers with the text that it is given.',
      input: {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
        additionalProperties: false,
      },
    },
  ],
}

export async function testModelFamily(
  ctx: Context,
  models: Models,
  text: string,
  patienceMs = PATIENCE_MS,
): Promise<ModelTest> {
  const workspace = workspaceOf(ctx)
  const name = text.trim().toLowerCase()
  if (name !== SCRIPTED_FAMILY && (await families.find(ctx.db, workspace.id, name)) === null) {
    throw notFound(`No model family ${quoted(text)} in this workspace.`)
  }
  const tested = await testModel(await models.open(workspace.id, name), patienceMs)
  await mutate(ctx, async (unit) => unit.record('model_family_tested', { family: name, ok: tested.ok }))
  return tested
}

/** Never rejects for what a provider does. */
export async function testModel(model: Model, patienceMs = PATIENCE_MS): Promise<ModelTest> {
  if (model.name === SCRIPTED_FAMILY) return { ok: true, text: 'The scripted model needs nothing and follows a plan.' }
  const limit = AbortSignal.timeout(patienceMs)
  try {
    return judged(await model.answer(QUESTION, limit))
  } catch (error) {
    if (error instanceof ModelFault) return { ok: false, text: error.message }
    if (limit.aborted) return { ok: false, text: `The model did not answer within ${patienceMs / 1000} seconds.` }
    throw error
  }
}

function judged({ calls, text, usage }: ModelAnswer): ModelTest {
  const tokens =
    usage === null
      ? 'and did not say how many tokens it took'
      : `with ${usage.tokensIn} tokens in and ${usage.tokensOut} out`
  const call = calls.find((one) => one.tool === 'echo')
  if (call === undefined) {
    const said = text.trim() === '' ? 'nothing' : quoted(text.trim())
    return {
      ok: false,
      text: `The model answered, but did not call the tool: it said ${said}. Agents need a model that calls tools.`,
    }
  }
  if (call.broken !== undefined)
    return { ok: false, text: 'The model called the tool with arguments that are no JSON.' }
  const given = (call.input as { text?: unknown } | null)?.text
  if (typeof given !== 'string')
    return { ok: false, text: 'The model called the tool without the argument that it needs.' }
  return { ok: true, text: `The model called the tool as it was asked, ${tokens}.` }
}
