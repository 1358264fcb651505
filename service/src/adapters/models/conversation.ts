// Our messages and tools in the form of the client. Tools have no `execute`: nothing is run here.
import type { ModelMessage as SdkMessage, Tool } from 'ai'
import type { ModelCall, ModelMessage, ToolDeclaration } from '../../ports/model.ts'

/** Providers take letters, digits, _ and - in the ids of calls. */
const idOf = (id: string): string => id.replace(/[^A-Za-z0-9_-]/g, '_')

/** Providers take objects alone; what the model sent in place of one is given back inside of one. */
function inputOf(call: ModelCall): Record<string, unknown> {
  if (call.broken !== undefined) return { not_json: call.broken.slice(0, 2000) }
  const { input } = call
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>
  return input === null || input === undefined ? {} : { value: input }
}

/** Null: a message that says nothing, which providers refuse. */
function sdkMessage(message: ModelMessage): SdkMessage | null {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.text === '' ? '(empty message)' : message.text }
    case 'assistant': {
      const text = message.text.trim() === '' ? [] : [{ type: 'text' as const, text: message.text }]
      const calls = message.calls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: idOf(call.id),
        toolName: call.tool,
        input: inputOf(call),
      }))
      return text.length + calls.length === 0 ? null : { role: 'assistant', content: [...text, ...calls] }
    }
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map((result) => ({
          type: 'tool-result' as const,
          toolCallId: idOf(result.call),
          toolName: result.tool,
          output: {
            type: result.isError ? ('error-text' as const) : ('text' as const),
            value: result.text === '' ? '(no output)' : result.text,
          },
        })),
      }
  }
}

export const sdkMessages = (messages: readonly ModelMessage[]): SdkMessage[] =>
  messages.flatMap((message) => sdkMessage(message) ?? [])

type MakeSchema = typeof import('ai').jsonSchema

/** Arguments are not checked here: the loop does that, and tells the model what is wrong with them. */
export const sdkTools = (declared: readonly ToolDeclaration[], jsonSchema: MakeSchema): Record<string, Tool> =>
  Object.fromEntries(
    declared.map(({ name, description, input }) => [name, { description, inputSchema: jsonSchema({ ...input }) }]),
  )
