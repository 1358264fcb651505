// Documents that try to cost more than they should, each with what the edge must answer. Sizes are chosen to stay under
// the token limit where another limit is meant to catch them.
const repeat = (count: number, part: (at: number) => string, between = ' '): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(between)

const nest = (count: number, open: string, inside: string, close = '}'): string =>
  open.repeat(count) + inside + close.repeat(count)

const fragments = (count: number, body: (at: number) => string, type = 'Users'): string =>
  repeat(count, (at) => `fragment f${at} on ${type} { ${body(at)} }`)

export interface Bomb {
  readonly name: string
  readonly query: string
  readonly variables?: unknown
  /** 400 by a limit or by GraphQL itself, or 200 for what may pass (and must be cheap). */
  readonly status: number
  /** A part of the message. */
  readonly says?: string
}

const refused = (name: string, query: string, says?: string): Bomb => ({ name, query, status: 400, says })
const passes = (name: string, query: string, variables?: unknown): Bomb => ({ name, query, variables, status: 200 })

const INTROSPECTED = 'fields { name type { name fields { name args { name type { name kind ofType { name } } } } } }'

export const BOMBS: readonly Bomb[] = [
  // the text
  refused('nothing', '', 'Syntax Error'),
  refused('a comment of 900 kB', `#${'x'.repeat(900_000)}`, 'too long'),
  refused('2,001 fields', `{ ${'a '.repeat(2_001)}}`, 'more that 2000 tokens'),
  refused('a million tokens', `{ ${'a '.repeat(500_000)}}`, 'at most 131072 characters'),
  refused('inline fragments, 20,000 deep', nest(20_000, '{...', '{a}', '}'), '2000 tokens'),
  refused('10,000 open braces', '{a'.repeat(10_000), '2000 tokens'),
  // by the stack or by the tokens, whichever ends first
  refused('10,000 open brackets', `{ a(b: ${'['.repeat(10_000)}`),
  refused('120 kB of brackets', `{ a(b: ${'['.repeat(120_000)}`),
  refused('lists in lists, 900 deep', `{ listUsers(a: ${nest(900, '[', '1', ']')}) { ok } }`, 'Unknown argument'),
  refused('objects in objects, 400 deep', `{ listUsers(a: ${nest(400, '{b:', '1')}) { ok } }`, 'Unknown argument'),
  refused('a list type, 900 deep', `query ($a: ${nest(900, '[', 'Int', ']')}) { listWorkspaces { ok } }`, 'never used'),
  refused('a name of 120 kB', `{ ${'n'.repeat(120_000)} }`, 'Cannot query field'),
  refused('a string of 120 kB', `{ listUsers(a: "${'s'.repeat(120_000)}") { ok } }`, 'Unknown argument'),
  refused(
    'a block string of 60,000 lines',
    `{ listUsers(a: """${'s\n'.repeat(60_000)}""") { ok } }`,
    'Unknown argument',
  ),
  refused('escapes, 20,000', `{ listUsers(a: "${String.raw`\u0041`.repeat(20_000)}") { ok } }`, 'Unknown argument'),
  refused('an Int of 100,000 digits', `{ getAuditLogs(limit: ${'9'.repeat(100_000)}) { ok } }`, 'Int cannot represent'),
  refused('NUL and control characters', '{ listUsers { ok\u0000\u0007 } }', 'Syntax Error'),
  refused('lone surrogates', '{ listUsers { ok \ud800 } }', 'Syntax Error'),
  refused('a JSON syntax tree', '{"kind":"Document","definitions":[]}', 'Syntax Error'),
  // depth
  refused('13 levels', nest(12, 'a{', 'b').replace(/^/, '{') + '}', 'at most 12 levels'),
  refused('600 levels', `{${nest(600, 'a{', 'b')}}`, 'at most 12 levels'),
  refused(
    '13 levels by fragments',
    `{ ...f0 } ${repeat(13, (at) => `fragment f${at} on Query { a { ...f${at + 1} } }`)} fragment f13 on Query { b }`,
    'at most 12 levels',
  ),
  refused(
    'deep in a fragment that is not used',
    `{ listWorkspaces { ok } } fragment f on Query {${nest(30, 'a{', 'b')}}`,
    'levels',
  ),
  refused(
    'deep in an operation that is not run',
    `query A { listWorkspaces { ok } } query B {${nest(14, 'a{', 'b')}}`,
    'levels',
  ),
  refused('introspection, 21 levels', `{ __schema { types {${nest(19, 'ofType{', 'name')}} } }`, 'at most 20 levels'),
  refused('deep below a false __schema', `{ a { __schema {${nest(14, 'b{', 'c')}} } }`, 'at most 12 levels'),
  refused('inline fragments, 300 deep', `{ listUsers { ${nest(300, '...{', 'ok')} } }`, 'fragments in fragments'),
  refused(
    'typed inline fragments, 200 deep',
    `{ listUsers { ${nest(200, '... on Users {', 'ok')} } }`,
    'fragments in fragments',
  ),
  refused(
    'fragments in fragments, 20 deep',
    `{ listUsers { ...f0 } } ${fragments(20, (at) => `...f${at + 1}`)} fragment f20 on Users { ok }`,
    'fragments in fragments',
  ),
  // cycles
  refused('a fragment in itself', '{ listUsers { ...f } } fragment f on Users { ok ...f }', 'within itself'),
  refused(
    'two fragments in each other',
    '{ listUsers { ...f } } fragment f on Users { ...g } fragment g on Users { ...f }',
    'within itself',
  ),
  refused('a cycle through a field', '{ ...f } fragment f on Query { listUsers { ...f } }', 'within itself'),
  refused(
    'a cycle that is not used',
    '{ listUsers { ok } } fragment f on Query { a { ...f } b { ...f } c { ...f } }',
    'within itself',
  ),
  refused(
    'a ring of 50',
    `{ listUsers { ...f0 } } ${repeat(50, (at) => `fragment f${at} on Users { ok ...f${(at + 1) % 50} }`)}`,
    'within itself',
  ),
  // aliases and root fields
  refused('16 aliases', `{ listUsers { ${repeat(16, (at) => `a${at}: ok`)} } }`, 'aliases: at most 15'),
  refused(
    '16 aliases by a fragment',
    `{ listUsers { activeUsers { ...f } invitedUsers { ...g } } } fragment f on ActiveUser { ${repeat(8, (at) => `a${at}: email`)} } fragment g on InvitedUser { ${repeat(8, (at) => `a${at}: email`)} }`,
    'aliases: at most 15',
  ),
  refused(
    'a fragment of 6 aliases in 3 places',
    '{ a: listUsers { ...f } b: listUsers { ...f } c: listUsers { ...f } } fragment f on Users { a1: ok a2: ok a3: ok a4: ok a5: ok a6: ok }',
    'aliases: at most 15',
  ),
  refused('11 root fields', `{ ${repeat(11, (at) => `a${at}: listWorkspaces { ok }`)} }`, 'root fields: at most 10'),
  refused('300 sign-ins by alias', `{ ${repeat(300, (at) => `a${at}: apiKeyIdentity { isValid }`)} }`, 'at most'),
  refused(
    'root fields by fragments',
    `{ ...f0 ...f1 ...f2 } ${repeat(3, (f) => `fragment f${f} on Query { ${repeat(4, (at) => `a${f}${at}: listWorkspaces { ok }`)} }`)}`,
    'root fields: at most 10',
  ),
  refused(
    'root fields by inline fragments',
    `{ ${repeat(11, () => '... on Query { listWorkspaces { ok } }')} }`,
    'root fields: at most 10',
  ),
  refused('one root field 60 times', `{ ${repeat(60, () => 'listWorkspaces { ok }')} }`, 'root fields: at most 10'),
  // directives
  refused(
    '21 directives on a field',
    `{ listUsers ${'@include(if: true) '.repeat(21)} { ok } }`,
    'directives: at most 20',
  ),
  refused('unknown directives, 600', `{ listUsers ${'@a '.repeat(600)} { ok } }`, 'directives: at most 20'),
  refused(
    'directives on variables',
    `query (${repeat(21, (at) => `$v${at}: Int @a`)}) { listUsers { ok } }`,
    'directives: at most 20',
  ),
  refused(
    'directives on spreads',
    `{ listUsers { ${repeat(21, () => '...f @include(if: true)')} } } fragment f on Users { ok }`,
    'directives: at most 20',
  ),
  // amplification
  refused(
    'fields doubled 12 times over',
    `{ ...f0 } ${repeat(12, (at) => `fragment f${at} on Query { a: a { ...f${at + 1} } b: b { ...f${at + 1} } }`)} fragment f12 on Query { c }`,
    'at most',
  ),
  refused(
    'fields doubled 11 times over, no alias',
    `{ ...f0 } ${repeat(11, (at) => `fragment f${at} on Query { a { ...f${at + 1} } b { ...f${at + 1} } }`)} fragment f11 on Query { c }`,
    'too many fields: at most 2000',
  ),
  refused('one field 1,900 times', `{ listUsers { ${'ok '.repeat(1_900)} } }`, 'in the same place'),
  refused(
    'one field 300 times with fields below',
    `{ listUsers { ${'activeUsers { email uid } '.repeat(300)} } }`,
    'in the same place',
  ),
  refused(
    '60 fields that overlap through fragments',
    `{ listUsers { ${repeat(49, (at) => `...f${at}`)} } } ${fragments(49, () => 'ok ok activeUsers { uid }')}`,
    'in the same place',
  ),
  refused('51 fragments', `{ listUsers { ...f0 } } ${fragments(51, () => 'ok')}`, 'fragments: at most 50'),
  refused(
    '200 fragments of one name',
    `{ listUsers { ...f } } ${repeat(200, () => 'fragment f on Users { ok }')}`,
    'fragments: at most 50',
  ),
  refused(
    '50 fragments with nothing in common',
    `{ listUsers { ${repeat(50, (at) => `...f${at}`)} } } ${fragments(50, (at) => `x${at}`)}`,
    'Cannot query field',
  ),
  refused(
    '21 operations',
    repeat(21, (at) => `query q${at} { listWorkspaces { ok } }`),
    'operations: at most 20',
  ),
  refused(
    '300 variables that are not used',
    `query (${repeat(300, (at) => `$v${at}: Int`)}) { listUsers { ok } }`,
    'never used',
  ),
  refused(
    '600 unknown fields that are nearly right',
    `{ listUsers { ${repeat(600, (at) => `activeUsrs${at}`)} } }`,
    'Cannot query field',
  ),
  refused(
    '400 unknown arguments',
    `{ getAuditLogs(${repeat(400, (at) => `limt${at}: 1`)}) { ok } }`,
    'Unknown argument',
  ),
  refused(
    '400 members of an input that it lacks',
    `mutation { createWorkspace(name: { ${repeat(400, (at) => `n${at}: 1`)} }) { ok } }`,
    'String cannot represent',
  ),
  refused(
    'introspection in lists of lists',
    `{ __schema { types { ${INTROSPECTED.replace('name kind', 'name kind fields { name } interfaces { name }')} } } }`,
    'introspection depth',
  ),
  refused('subscription', 'subscription { a }', 'Cannot query field'),
  refused(
    'type definitions',
    `{ listUsers { ok } } ${repeat(100, (at) => `type T${at} { a: Int }`)}`,
    'not executable',
  ),
  // what may pass, and must be cheap
  passes(
    '15 aliases of a list',
    `{ listUsers { ${repeat(15, (at) => `a${at}: activeUsers { uid email name accountType }`)} } }`,
  ),
  passes('10 root fields', `{ ${repeat(10, (at) => `a${at}: listWorkspaces { ok workspaces { uid name } }`)} }`),
  passes('30 times the same fields', `{ listUsers { ${'ok activeUsers { uid } '.repeat(30)} } }`),
  passes('introspection as wide as it goes', `{ __schema { types { ${INTROSPECTED} } } }`),
  passes('introspection 10 times', `{ ${repeat(10, (at) => `a${at}: __schema { types { ${INTROSPECTED} } }`)} }`),
  passes('12 nested inline fragments', `{ listUsers { ${nest(11, '... on Users {', 'ok')} } }`),
]
