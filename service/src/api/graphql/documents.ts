// From the text of a document to something that can be executed. Parsing, limits and validation depend on the text and
// the operation's name alone, so documents that come again are kept, in a small table: a compiled document holds on to
// megabytes, and a large table of them is how a server of this kind runs out of memory. The key has the operation's
// name in it: two operations of one document are two entries.
import type { DocumentNode, ExecutionResult, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { execute, GraphQLError, specifiedRules, subscribe, validate } from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'
import type { Monotonic } from '../edge.ts'
import { TokenBuckets } from '../rate-limit.ts'
import { parseDocument, type Shape, shapeOf, withinStack } from './limits.ts'

const MOST_KEPT = 128
const LONGEST_KEPT = 32 * 1024
/** Compiling costs milliseconds: what comes a third time is likely to come again. */
const USES_BEFORE_COMPILING = 3
/** Unless it may answer many rows, where the plain executor is ten times slower and does not give the loop back. */
const ROWS_WORTH_COMPILING = 500
/** Larger ones take long to compile and gain little. */
const MOST_FIELDS_COMPILED = 250
/** What a client that never repeats itself can make us compile. */
const COMPILES = { perSecond: 5, burst: 40 }
const MOST_VALIDATION_ERRORS = 20

/** A document that was read, whose limits were checked, and whose operation was chosen; not yet validated. */
export interface Read extends Shape {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly kind: 'query' | 'mutation' | 'subscription'
  /** Nothing but `apiKeyIdentity` (and `__typename`) in any of its operations: how a key is checked. */
  readonly identityAlone: boolean
}

export interface Prepared extends Read {
  uses: number
  compiled: CompiledQuery | 'not yet' | 'never'
}

export interface Documents {
  /** For a caller without valid credentials: reads, keeps nothing. Throws GraphQLError or BAD_REQUEST. */
  read(source: string, operationName: string | null): Read
  /** Validates what was read for that caller, without suggestions of names. */
  prepareRead(read: Read): Prepared
  /** For everyone else: reads and validates, or takes what was kept. Throws GraphQLError, ValidationFailed, BAD_REQUEST. */
  prepare(source: string, operationName: string | null): Prepared
  execute(prepared: Prepared, request: Execution): Promise<ExecutionResult> | ExecutionResult
  /** A subscription: its answers one by one, or the one answer that says why there are none. */
  subscribe(
    prepared: Prepared,
    request: Omit<Execution, 'rows'>,
  ): Promise<AsyncGenerator<ExecutionResult, void, void> | ExecutionResult>
  readonly kept: number
}

export interface Execution {
  /** GraphQL's context; `compiled` tells it which executor runs it, before the first field is called. */
  readonly caller: { compiled: boolean }
  /** As sent, already known to fit. */
  readonly variables: Readonly<Record<string, unknown>>
  /** Rows that the document may answer. */
  readonly rows: number
}

export class ValidationFailed extends Error {
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    super('The document is not valid')
    this.errors = errors
  }
}

export function createDocuments(schema: GraphQLSchema, now: Monotonic): Documents {
  const kept = new Map<string, Prepared>()
  const compiles = new TokenBuckets({ ...COMPILES, now, capacity: 1 })

  function validated(read: Read, hideSuggestions: boolean): Prepared {
    const errors = withinStack(() =>
      validate(schema, read.document, specifiedRules, { maxErrors: MOST_VALIDATION_ERRORS, hideSuggestions }),
    )
    if (errors.length > 0) throw new ValidationFailed(errors)
    return { ...read, uses: 0, compiled: 'not yet' }
  }

  function prepare(source: string, operationName: string | null): Prepared {
    // What is no name could hold the separator of the key.
    if (operationName !== null && !NAME.test(operationName)) throw unknownOperation(operationName)
    const key = `${operationName ?? ''}\0${source}`
    let prepared = kept.get(key)
    if (prepared === undefined) {
      prepared = validated(readDocument(source, operationName), false)
      if (source.length > LONGEST_KEPT) return prepared
      if (kept.size >= MOST_KEPT) dropOldest(kept)
    } else {
      kept.delete(key)
    }
    kept.set(key, prepared)
    prepared.uses++
    return prepared
  }

  function compiledOf(prepared: Prepared, rows: number): CompiledQuery | null {
    if (prepared.compiled === 'never') return null
    if (prepared.compiled !== 'not yet') return prepared.compiled
    if (prepared.uses < USES_BEFORE_COMPILING && rows < ROWS_WORTH_COMPILING) return null
    if (!mayCompile(prepared)) {
      prepared.compiled = 'never'
      return null
    }
    if (compiles.take('', 1) > 0) return null
    const compiled = compileQuery(schema, prepared.document, prepared.operation.name?.value, {
      disablingCapturingStackErrors: true,
    })
    prepared.compiled = isCompiledQuery(compiled) ? compiled : 'never'
    return prepared.compiled === 'never' ? null : prepared.compiled
  }

  return {
    prepare,
    read: readDocument,
    prepareRead: (read) => validated(read, true),
    execute(prepared, { caller, variables, rows }) {
      const compiled = compiledOf(prepared, rows)
      if (compiled !== null) {
        caller.compiled = true
        return compiled.query(undefined, caller, variables)
      }
      caller.compiled = false
      return execute({
        schema,
        document: prepared.document,
        operationName: prepared.operation.name?.value,
        contextValue: caller,
        variableValues: variables,
      })
    },
    subscribe: async (prepared, { caller, variables }) =>
      await subscribe({
        schema,
        document: prepared.document,
        operationName: prepared.operation.name?.value,
        contextValue: caller,
        variableValues: variables,
      }),
    get kept() {
      return kept.size
    },
  }
}

/**
 * Mutations are few and each waits for the disk, so they gain nothing; and the compiled executor, which does run them one
 * after the other, stops without a word when an argument turns out wrong late. Introspection is large and rare.
 */
const mayCompile = (prepared: Prepared): boolean =>
  prepared.kind === 'query' &&
  prepared.fields <= MOST_FIELDS_COMPILED &&
  !prepared.rootFields.some(({ name }) => name === '__schema' || name === '__type')

function readDocument(source: string, operationName: string | null): Read {
  const document = parseDocument(source)
  const shapes = shapeOf(document)
  const operation = choose([...shapes.keys()], operationName)
  const shape = shapes.get(operation)!
  const identityAlone =
    shape.rootFields.some(({ name }) => name === 'apiKeyIdentity') &&
    [...shapes].every(([one, shape]) => asksIdentity(one, shape))
  return { ...shape, document, operation, kind: operation.operation, identityAlone }
}

const asksIdentity = (operation: OperationDefinitionNode, shape: Shape): boolean =>
  operation.operation === 'query' &&
  shape.rootFields.every(({ name }) => name === 'apiKeyIdentity' || name === '__typename')

// In the words of graphql-js, which would say them only after the gate.
function choose(operations: readonly OperationDefinitionNode[], name: string | null): OperationDefinitionNode {
  if (name !== null) {
    const named = operations.find((operation) => operation.name?.value === name)
    if (named === undefined) throw unknownOperation(name)
    return named
  }
  const [first, second] = operations
  if (first === undefined) throw new GraphQLError('Must provide an operation.')
  if (second !== undefined) {
    throw new GraphQLError('Must provide operation name if query contains multiple operations.')
  }
  return first
}

const NAME = /^[_A-Za-z][_0-9A-Za-z]*$/

const unknownOperation = (name: string): GraphQLError =>
  new GraphQLError(`Unknown operation named "${name.slice(0, 100)}".`)

function dropOldest(kept: Map<string, Prepared>): void {
  for (const oldest of kept.keys()) {
    kept.delete(oldest)
    return
  }
}
