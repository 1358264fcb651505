// What a document may look like, decided on its syntax tree before anything that costs more than reading it.
//
// Tokens bound the text; the walk below bounds what the text stands for. It goes through each operation the way an
// executor would: fragments are put in where they are spread (once per place), and fields of one response key in one
// place are merged. So every count is of what would be answered, a fragment cannot hide depth, aliases or root fields,
// and "repeats" (pairs of fields that share a place, which is what validation compares with each other) is a bound on
// the one validation rule whose cost grows faster than the document.
import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionSetNode,
} from 'graphql'
import { GraphQLError, Kind, parse } from 'graphql'
import { AppError } from '../../domain/errors.ts'
import { type RowDemand, rowDemandOf } from './rows.ts'

export const LIMITS = {
  bodyBytes: 1024 * 1024,
  /** Of a document; what is long belongs into variables. One token can be a text of any length. */
  characters: 128 * 1024,
  tokens: 2_000,
  /** Outside __schema and __type. */
  depth: 12,
  /** Inside them: the standard introspection query is 15 deep. */
  introspectionDepth: 20,
  /** Fragments written inside fragments without a field between them. */
  nesting: 12,
  aliases: 15,
  rootFields: 10,
  directives: 20,
  fragments: 50,
  operations: 20,
  /** Fields of all operations together, fragments put in. */
  fields: 2_000,
  repeats: 2_000,
  answerBytes: 32 * 1024 * 1024,
  executionMs: 10_000,
} as const

export interface RootField {
  readonly name: string
  readonly responseKey: string
}

/** What the gate and the rate limit need to know of an operation. */
export interface Shape {
  /** By response key, in the order of execution; `__typename` and introspection among them. */
  readonly rootFields: readonly RootField[]
  /** Fields with fragments put in. */
  readonly fields: number
  readonly rowDemands: readonly RowDemand[]
}

/** Throws GraphQL's own syntax error, or BAD_REQUEST. */
export function parseDocument(source: string): DocumentNode {
  if (source.length > LIMITS.characters) throw tooMuch('is too long', LIMITS.characters, 'characters')
  return withinStack(() => parse(source, { maxTokens: LIMITS.tokens }))
}

/** What goes down by recursion can run out of stack, and that is the document's fault, not ours. */
export function withinStack<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new AppError('BAD_REQUEST', 'The document is nested too deeply to be read.', { cause: error })
  }
}

/** Throws BAD_REQUEST for a document that is more than the limits allow. */
export function shapeOf(document: DocumentNode): ReadonlyMap<OperationDefinitionNode, Shape> {
  const written: FragmentDefinitionNode[] = []
  const operations: OperationDefinitionNode[] = []
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) written.push(definition)
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition)
  }
  const fragments = new Map(written.map((fragment) => [fragment.name.value, fragment]))
  if (written.length > LIMITS.fragments) throw tooMuch('has too many fragments', LIMITS.fragments)
  if (operations.length > LIMITS.operations) throw tooMuch('has too many operations', LIMITS.operations)
  refuseCycles(fragments)

  const walk = new Walk(fragments)
  const shapes = new Map<OperationDefinitionNode, Shape>()
  for (const operation of operations) shapes.set(operation, walk.operation(operation))
  // Validation reads fragments that nobody spreads, or that share a name, too, before it refuses them.
  for (const fragment of written) if (!walk.reached.has(fragment)) walk.fragment(fragment)
  return shapes
}

class Walk {
  readonly reached = new Set<FragmentDefinitionNode>()
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  // Of the whole document, because validation reads the whole document.
  #fields = 0
  #repeats = 0
  // Of the operation at hand.
  #aliases = 0
  #directives = 0
  #rowDemands: RowDemand[] = []

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments
  }

  operation(operation: OperationDefinitionNode): Shape {
    const before = this.#fields
    this.#aliases = 0
    this.#directives = 0
    this.#rowDemands = []
    this.#countDirectives(operation)
    for (const variable of operation.variableDefinitions ?? []) this.#countDirectives(variable)
    const root = this.#collect([operation.selectionSet])
    let nodes = 0
    for (const same of root.values()) nodes += same.length
    if (nodes > LIMITS.rootFields) throw tooMuch('has too many root fields', LIMITS.rootFields)
    const rootFields: RootField[] = []
    for (const [responseKey, same] of root) {
      const name = same[0]!.name.value
      rootFields.push({ name, responseKey })
      // Two fields under one key are refused by validation; until then each counts as mentioned.
      for (const other of same) if (other.name.value !== name) rootFields.push({ name: other.name.value, responseKey })
      const introspects = name === '__schema' || name === '__type'
      this.#descend(same, 1, introspects ? LIMITS.introspectionDepth : LIMITS.depth)
    }
    return { rootFields, fields: this.#fields - before, rowDemands: this.#rowDemands }
  }

  fragment(fragment: FragmentDefinitionNode): void {
    this.reached.add(fragment)
    for (const same of this.#collect([fragment.selectionSet]).values())
      this.#descend(same, 1, LIMITS.introspectionDepth)
  }

  #descend(same: readonly FieldNode[], depth: number, most: number): void {
    const below: SelectionSetNode[] = []
    for (const field of same) if (field.selectionSet !== undefined) below.push(field.selectionSet)
    if (below.length === 0) return
    if (depth >= most) throw tooMuch('is nested too deeply', most, 'levels')
    for (const group of this.#collect(below).values()) this.#descend(group, depth + 1, most)
  }

  /** The fields of one place by response key. */
  #collect(sets: readonly SelectionSetNode[]): Map<string, FieldNode[]> {
    const groups = new Map<string, FieldNode[]>()
    const spread = new Set<string>()
    for (const set of sets) this.#gather(set, groups, spread, 0)
    return groups
  }

  #gather(set: SelectionSetNode, groups: Map<string, FieldNode[]>, spread: Set<string>, nesting: number): void {
    if (nesting > LIMITS.nesting) throw tooMuch('nests fragments in fragments too deeply', LIMITS.nesting, 'levels')
    for (const selection of set.selections) {
      this.#countDirectives(selection)
      if (selection.kind === Kind.FIELD) this.#field(selection, groups)
      else if (selection.kind === Kind.INLINE_FRAGMENT)
        this.#gather(selection.selectionSet, groups, spread, nesting + 1)
      else this.#spread(selection.name.value, groups, spread, nesting)
    }
  }

  #field(field: FieldNode, groups: Map<string, FieldNode[]>): void {
    this.#fields++
    if (this.#fields > LIMITS.fields) throw tooMuch('asks for too many fields', LIMITS.fields)
    if (field.alias !== undefined) {
      this.#aliases++
      if (this.#aliases > LIMITS.aliases) throw tooMuch('has too many aliases', LIMITS.aliases)
    }
    const key = field.alias?.value ?? field.name.value
    const same = groups.get(key)
    if (same === undefined) {
      groups.set(key, [field])
      const demand = rowDemandOf(field)
      if (demand !== null) this.#rowDemands.push(demand)
      return
    }
    this.#repeats += same.length
    if (this.#repeats > LIMITS.repeats) throw tooMuch('repeats fields in the same place too often', LIMITS.repeats)
    same.push(field)
  }

  #spread(name: string, groups: Map<string, FieldNode[]>, spread: Set<string>, nesting: number): void {
    const fragment = this.#fragments.get(name)
    if (fragment === undefined || spread.has(name)) return
    spread.add(name)
    this.reached.add(fragment)
    this.#countDirectives(fragment)
    this.#gather(fragment.selectionSet, groups, spread, nesting + 1)
  }

  #countDirectives(node: { readonly directives?: readonly unknown[] }): void {
    this.#directives += node.directives?.length ?? 0
    if (this.#directives > LIMITS.directives) throw tooMuch('has too many directives', LIMITS.directives)
  }
}

// In validation's own words, but before the walk, which needs an end. Linear: each fragment is entered once.
function refuseCycles(fragments: ReadonlyMap<string, FragmentDefinitionNode>): void {
  const done = new Set<string>()
  const open = new Set<string>()
  const enter = (name: string): void => {
    const fragment = fragments.get(name)
    if (fragment === undefined || done.has(name)) return
    if (open.has(name)) {
      throw new GraphQLError(`Cannot spread fragment "${name}" within itself.`, { nodes: fragment })
    }
    open.add(name)
    for (const other of spreadsIn(fragment.selectionSet)) enter(other)
    open.delete(name)
    done.add(name)
  }
  for (const name of fragments.keys()) enter(name)
}

function spreadsIn(set: SelectionSetNode): ReadonlySet<string> {
  const names = new Set<string>()
  const pending = [set]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const selection of next.selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) names.add(selection.name.value)
      else if (selection.selectionSet !== undefined) pending.push(selection.selectionSet)
    }
  }
  return names
}

function tooMuch(what: string, most: number, unit = ''): AppError {
  return new AppError('BAD_REQUEST', `The document ${what}: at most ${most}${unit && ` ${unit}`}.`)
}
