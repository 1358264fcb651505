// POST /graphql. The order matters: who asks is found out before their document is worth any work, the gate decides on
// the whole document before any of it runs, and nothing is executed that any step refused.
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import { getVariableValues } from 'graphql'
import { AppError } from '../../domain/errors.ts'
import { readCredentials, readWorkspace } from '../auth.ts'
import type { Call, Denial, Gatekeeper, Identity, Monotonic, RequestFacts } from '../edge.ts'
import type { RateLimiter } from '../rate-limit.ts'
import { type Answer, executionAnswer, type Faults, refusalAnswer } from './answer.ts'
import { hashOf, readBody, readIdempotencyKey } from './body.ts'
import { createDocuments, type Documents, type Prepared, type Read, ValidationFailed } from './documents.ts'
import { Execution, type OperationOutcome } from './execution.ts'
import { passGate, unauthenticated } from './gate.ts'
import { createLane } from './lane.ts'
import { LIMITS } from './limits.ts'
import { countRows } from './rows.ts'
import { createStreams, type Streams } from './stream.ts'

export interface GraphQLRouteOptions<Context> extends Faults {
  readonly schema: GraphQLSchema
  readonly gatekeeper: Gatekeeper
  readonly limiter: RateLimiter
  readonly now: Monotonic
  /** The origins whose pages may use the session cookie; asked each time, since the port may be known late. */
  readonly ownOrigins: () => ReadonlySet<string>
  /** Names of the workspace header, in lower case (`workspaceHeaderNames`). */
  readonly workspaceHeaders: readonly string[]
  readonly contextFor: (call: Call) => Context
  /** Awaited; its failure is logged and changes nothing for the caller. */
  readonly onDenied: (denial: Denial) => Promise<void>
  readonly observe?: (operation: string, outcome: OperationOutcome | 'denied') => void
  /** After a large answer has gone out: whatever it was made of is not needed any more. */
  readonly relieve?: () => void
}

export const GRAPHQL_PATHS = ['/graphql', '/api/v1/:any/graphql']

const MANY_ROWS = 1_000
const LARGE_ANSWER = 256 * 1024
/** These hold the output of commands. */
const LARGE_FIELDS: ReadonlySet<string> = new Set(['boltCommandLogs', 'boltCommand', 'boltRunStatus'])
const LARGE_AT_ONCE = 1

// Other types never reach the parser: a page elsewhere cannot send this one without asking first (CSRF).
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?[ \t]*$/i

export function registerGraphQL<Context>(app: FastifyInstance, options: GraphQLRouteOptions<Context>): void {
  const streams = createStreams()
  const handler = createHandler(options, streams)
  app.addHook('preClose', (done) => {
    streams.stop()
    done()
  })
  void app.register((scope, _options, done) => {
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: LIMITS.bodyBytes },
      scope.getDefaultJsonParser('error', 'error'),
    )
    for (const url of GRAPHQL_PATHS) {
      scope.route({
        method: 'POST',
        url,
        config: { access: 'graphql' },
        bodyLimit: LIMITS.bodyBytes,
        onRequest: (request, _reply, next) => {
          const type = request.headers['content-type']
          if (type !== undefined && JSON_TYPE.test(type)) return next()
          next(Object.assign(new Error('Send Content-Type: application/json.'), { statusCode: 415 }))
        },
        handler,
      })
    }
    done()
  })
}

function createHandler<Context>(options: GraphQLRouteOptions<Context>, streams: Streams) {
  const { schema } = options
  const documents = createDocuments(schema, options.now)
  const mutations = schema.getMutationType()?.getFields() ?? {}
  const observe = options.observe ?? (() => {})
  const lane = createLane(LARGE_AT_ONCE)

  return async (http: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const request: RequestFacts = { id: http.id, address: http.ip, userAgent: http.headers['user-agent'] ?? '' }
    let answer: Answer | Readable
    try {
      answer = await answerTo(http, request)
    } catch (error) {
      answer = refusalAnswer(error, request.id, options)
    }
    if (!('status' in answer)) {
      // Buffering proxies (nginx) would hold events back.
      reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no')
      return reply.type('text/event-stream; charset=utf-8').send(answer)
    }
    if (answer.body.length > LARGE_ANSWER && options.relieve !== undefined) reply.raw.once('finish', options.relieve)
    if (answer.retryAfter !== null) reply.header('retry-after', answer.retryAfter)
    return reply.code(answer.status).type('application/json; charset=utf-8').send(answer.body)
  }

  async function answerTo(http: FastifyRequest, request: RequestFacts): Promise<Answer | Readable> {
    const body = readBody(http.body)
    const credentials = readCredentials(http, { ownOrigins: options.ownOrigins() })
    const workspace = attempt(() => readWorkspace(http, options.workspaceHeaders))
    const uid = workspace instanceof Error ? null : workspace
    const identity = await options.gatekeeper.authenticate(credentials, uid, request)
    if (identity.rejected !== null) options.limiter.chargeRejected(identity.rejected, request.address)
    options.limiter.charge(identity.actor, request.address, 1)

    const prepared = await prepare(documents, body.query, body.operationName, identity, request)
    if (workspace instanceof Error) throw workspace
    try {
      passGate(prepared, identity)
    } catch (error) {
      await denied(error, prepared, identity, request)
      throw error
    }

    const variables = withoutNulls(body.variables, prepared)
    const coerced = getVariableValues(schema, prepared.operation.variableDefinitions ?? [], variables, {
      maxErrors: 10,
    })
    if (coerced.errors !== undefined) throw new ValidationFailed(coerced.errors)
    const rows = countRows(prepared.rowDemands, coerced.coerced)
    const key = readIdempotencyKey(http.headers['idempotency-key'])
    const idempotency = key !== null && prepared.kind === 'mutation' ? { key, bodyHash: hashOf(body) } : null
    // Ten fields in one request cost what ten requests do.
    const further = prepared.rootFields.length - 1
    if (further > 0) options.limiter.charge(identity.actor, request.address, further)

    const execution = new Execution({ identity, request, idempotency, contextFor: options.contextFor, observe })
    if (prepared.kind === 'subscription') {
      const admit = async (): Promise<void> =>
        passGate(prepared, await options.gatekeeper.authenticate(credentials, uid, request))
      return await stream(prepared, variables, execution, { identity, request, admit })
    }
    const execute = async (): Promise<Answer> => {
      const result = await execution.run(documents, prepared, { variables, rows })
      await deniedWithin(result, prepared, identity, request)
      // Ten thousand rows take tens of milliseconds to execute, and as long to write down: others come between the two.
      if (rows >= MANY_ROWS) await setImmediate()
      return executionAnswer(result, request.id, options)
    }
    return prepared.rootFields.some(({ name }) => LARGE_FIELDS.has(name)) ? await lane.run(execute) : await execute()
  }

  async function stream(
    prepared: Prepared,
    variables: Readonly<Record<string, unknown>>,
    execution: Execution<Context>,
    by: { readonly identity: Identity; readonly request: RequestFacts; readonly admit: () => Promise<void> },
  ): Promise<Answer | Readable> {
    const results = await documents.subscribe(prepared, { caller: execution, variables })
    if (!(Symbol.asyncIterator in results)) {
      // Refused before it began: answered as a query is, its one field null.
      const data = Object.fromEntries(prepared.rootFields.map(({ responseKey }) => [responseKey, null]))
      return executionAnswer({ ...results, data }, by.request.id, options)
    }
    return streams.open({
      actor: by.identity.actor,
      results,
      listening: execution.listening,
      admit: by.admit,
      render: (result) => executionAnswer(result, by.request.id, options).body,
      refuse: (error) => refusalAnswer(error, by.request.id, options).body,
    })
  }

  async function prepare(
    from: Documents,
    source: string,
    operationName: string | null,
    identity: Identity,
    request: RequestFacts,
  ): Promise<Prepared> {
    if (identity.actor.kind !== 'anonymous') return from.prepare(source, operationName)
    // For the anonymous a document is `apiKeyIdentity` alone, or it is not looked at further than to record what was
    // refused; whether it is right is not theirs to learn.
    const read = attempt(() => from.read(source, operationName))
    if (read instanceof Error || !read.identityAlone) {
      const refusal = unauthenticated(identity.rejected)
      if (!(read instanceof Error)) await denied(refusal, read, identity, request)
      throw refusal
    }
    return from.prepareRead(read)
  }

  async function denied(error: unknown, read: Read, identity: Identity, request: RequestFacts): Promise<void> {
    if (!(error instanceof AppError) || (error.code !== 'UNAUTHENTICATED' && error.code !== 'FORBIDDEN')) return
    const names = read.rootFields.map(({ name }) => name)
    for (const name of names) if (!name.startsWith('__')) observe(name, 'denied')
    if (read.kind === 'mutation') await record(names, identity, request, error.code)
  }

  /** The gate let them in, and the operation itself found that they may not: who gives more than they hold, say. */
  async function deniedWithin(
    result: ExecutionResult,
    prepared: Prepared,
    identity: Identity,
    request: RequestFacts,
  ): Promise<void> {
    if (prepared.kind !== 'mutation' || result.errors === undefined) return
    const keys = result.errors.filter(
      ({ originalError: error }) => error instanceof AppError && error.code === 'FORBIDDEN',
    )
    const names = keys.map(
      ({ path }) => prepared.rootFields.find((field) => field.responseKey === path?.[0])?.name ?? '',
    )
    await record(names, identity, request, 'FORBIDDEN')
  }

  async function record(
    names: readonly string[],
    identity: Identity,
    request: RequestFacts,
    code: Denial['code'],
  ): Promise<void> {
    const operations = names.filter((name) => Object.hasOwn(mutations, name))
    if (operations.length === 0) return
    try {
      await options.onDenied({ identity, request, operations, code })
    } catch (failure) {
      options.log.error({ requestId: request.id, operations, err: failure }, 'a denied mutation was not recorded')
    }
  }
}

/** "Null means not given", and a variable that is not given has its default. */
function withoutNulls(variables: Readonly<Record<string, unknown>>, { operation }: Prepared) {
  let kept = variables
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    const name = variable.name.value
    if (defaultValue === undefined || !Object.hasOwn(kept, name) || kept[name] !== null) continue
    const { [name]: _null, ...others } = kept
    kept = others
  }
  return kept
}

function attempt<T>(work: () => T): T | Error {
  try {
    return work()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
