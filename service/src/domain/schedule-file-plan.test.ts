import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingLine, readScheduleFile } from './schedule-file.ts'
import type { KnownSchedule, PlanFacts } from './schedule-file-links.ts'
import { planFiles } from './schedule-file-plan.ts'

const entry = (name: string, more = ''): string =>
  `  - name: ${name}\n    schedule: "OFF"\n    environment: production\n    commands: [dbt build]\n${more.replace(/^(?=.)/gm, '    ')}`

const file = (path: string, ...entries: string[]) => readScheduleFile(path, `schedules:\n${entries.join('\n')}`)

const after = (parent: string, workspace = ''): string =>
  `run_after: {schedule: ${parent}${workspace && `, workspace: ${workspace}`}}\n`

let ids = 0
const known = (slug: string, more: Partial<KnownSchedule> = {}): KnownSchedule => ({
  id: ++ids,
  slug,
  name: slug,
  source: 'yaml',
  sourceFile: 'a.yml',
  active: true,
  defersTo: [],
  parentId: null,
  ...more,
})

const factsOf = (more: Partial<PlanFacts> = {}): PlanFacts => ({
  workspace: { name: 'Here', uid: 'here' },
  known: [],
  outside: [],
  environments: [{ id: 7, slug: 'main', displayName: 'Main', isDefault: true }],
  people: new Set(['ana@example.com']),
  ...more,
})

const plan = (files: ReturnType<typeof file>[], more: Partial<PlanFacts> = {}) => {
  const made = planFiles(files, factsOf(more))
  return {
    ...made,
    lines: made.findings.map(findingLine),
    slugs: made.wanted.map((one) => one.slug),
    gone: made.removed.map((one) => one.slug),
  }
}

test('what files say together is wanted, and what no file has any more is removed', () => {
  const { slugs, gone, lines, files } = plan([file('a.yml', entry('one')), file('b.yml', entry('two'))], {
    known: [
      known('one'),
      known('old'),
      known('by-hand', { source: 'ui', sourceFile: null }),
      known('past', { active: false }),
    ],
  })
  assert.deepEqual([slugs, gone, lines], [['one', 'two'], ['old'], []])
  assert.deepEqual(files, [
    { path: 'a.yml', schedules: 1, ok: true },
    { path: 'b.yml', schedules: 1, ok: true },
  ])
})

test('a file with a fault keeps its schedules as they are, and the others go on', () => {
  const { slugs, gone, files } = plan([file('a.yml', entry('one', 'nonsense: 1\n')), file('b.yml', entry('two'))], {
    known: [known('one'), known('other')],
  })
  assert.deepEqual([slugs, gone], [['two'], []])
  assert.deepEqual(files[0], { path: 'a.yml', schedules: 2, ok: false })
})

test('the same slug twice is a fault in both files', () => {
  const { lines, slugs } = plan([file('a.yml', entry('one')), file('b.yml', entry('two'), entry('one'))])
  assert.deepEqual(lines, [
    'a.yml:2:11: schedules[0].name: the slug "one" is also that of b.yml:7.',
    'b.yml:7:11: schedules[1].name: the slug "one" is also that of a.yml:2.',
  ])
  assert.deepEqual(slugs, [])
})

test('the same name under two slugs is a warning, and a fault only for whoever refers to it', () => {
  const twins = [entry('Twin', 'slug: twin-1\n'), entry('Twin', 'slug: twin-2\n')]
  const { lines, slugs } = plan([file('a.yml', ...twins), file('b.yml', entry('child', after('Twin')))])
  assert.match(lines[0]!, /^a\.yml:8:11: warning: .*"Twin" is also the name of a\.yml:2/)
  assert.match(lines[1]!, /^b\.yml:6:27: .*2 schedules are called "Twin"\. Give the slug: one of twin-1, twin-2/)
  assert.deepEqual(slugs, ['twin-1', 'twin-2'])
})

test('the slug of a schedule that no file made is refused, until that one is deleted', () => {
  const ui = known('one', { source: 'ui', sourceFile: null })
  assert.match(plan([file('a.yml', entry('one'))], { known: [ui] }).lines[0]!, /^a\.yml:2:11: .*not made by a file/)
  assert.deepEqual(plan([file('a.yml', entry('one'))], { known: [{ ...ui, active: false }] }).slugs, ['one'])
})

test('production is the default environment where none is called so; another unknown one is a fault', () => {
  assert.equal(plan([file('a.yml', entry('one'))]).wanted[0]?.environmentId, 7)
  const own = { id: 9, slug: 'production', displayName: 'Production', isDefault: false }
  const environments = [...factsOf().environments, own]
  assert.equal(plan([file('a.yml', entry('one'))], { environments }).wanted[0]?.environmentId, 9)
  const staging = file('a.yml', entry('one').replace('production', 'staging'))
  assert.match(plan([staging]).lines[0]!, /^a\.yml:4:18: .*no environment "staging" .* There are: main/)
})

test('an owner who is no user is a warning that stops nothing', () => {
  const { lines, slugs } = plan([
    file('a.yml', entry('one', 'owner_email: zoe@example.com\n'), entry('two', 'owner_email: ANA@example.com\n')),
  ])
  assert.deepEqual(lines, [
    'a.yml:6:18: warning: schedules[0].owner_email: zoe@example.com is no user of this workspace.',
  ])
  assert.deepEqual(slugs, ['one', 'two'])
})

test('schedules refer to each other over files, in any order, by slug, by name and by display name', () => {
  const { wanted, lines } = plan([
    file('a.yml', entry('child', after('Parent of all')), entry('by-slug', after('parent'))),
    file('b.yml', entry('ci', 'turbo_ci: {enabled: true, deferred_schedule_name: daily run}\n')),
    file('c.yml', entry('parent', 'display_name: Parent of all\n'), entry('daily run')),
  ])
  assert.deepEqual(lines, [])
  assert.deepEqual(
    wanted.slice(0, 2).map((one) => one.parent?.slug),
    ['parent', 'parent'],
  )
  assert.match(wanted[2]!.fields.turboCi!.slug!, /^daily-run-[0-9a-f]{6}$/)
})

test('a reference to nothing is a fault at its line; a disabled one is not looked up', () => {
  const { lines } = plan([file('a.yml', entry('child', after('parnt')), entry('parent'))])
  assert.deepEqual(lines, [
    'a.yml:6:27: schedules[0].run_after.schedule: no active schedule "parnt" in the files or in this workspace. Did you mean "parent"?',
  ])
  assert.deepEqual(
    plan([file('a.yml', entry('one', 'turbo_ci: {enabled: false, deferred_schedule_slug: none}\n'))]).lines,
    [],
  )
})

test('circles are found over files and over workspaces', () => {
  const circle = plan([file('a.yml', entry('one', after('two'))), file('b.yml', entry('two', after('one')))])
  assert.match(circle.lines[0]!, /^a\.yml:6:27: .*waits for "two", which waits for "one": none of them would ever run/)
  assert.match(circle.lines[1]!, /^b\.yml:6:27: /)
  assert.match(plan([file('a.yml', entry('one', after('one')))]).lines[0]!, /cannot wait for itself/)
  const one = known('one')
  const outside = [
    { id: 900, slug: 'far', name: 'Far', workspaceName: 'There', workspaceUid: 'there', parentId: one.id },
  ]
  const far = plan([file('a.yml', entry('one', after('far', 'there')))], { known: [one], outside })
  assert.match(far.lines[0]!, /waits for "Far", which waits for "one"/)
  const free = [{ ...outside[0]!, parentId: null }]
  assert.deepEqual(plan([file('a.yml', entry('one', after('Far', 'There')))], { outside: free }).wanted[0]!.parent, {
    kind: 'outside',
    id: 900,
    slug: 'far',
    name: 'Far',
  })
})

test('an unknown workspace and an unknown schedule of one read the same, and tell nothing of what is there', () => {
  const outside = [{ id: 900, slug: 'far', name: 'Far', workspaceName: 'There', workspaceUid: 'there', parentId: null }]
  const [wrong] = plan([file('a.yml', entry('one', after('fat', 'There')))], { outside }).lines
  const [nowhere] = plan([file('a.yml', entry('one', after('fat', 'Nowhere')))], { outside }).lines
  assert.equal(wrong, nowhere!.replace('Nowhere', 'There'))
  assert.ok(!wrong!.includes('far'))
})

test('what a broken file would have added cannot be referred to; what it had before can', () => {
  const broken = file('b.yml', entry('new', 'nonsense: 1\n'))
  const { lines, slugs } = plan(
    [file('a.yml', entry('one', after('old'))), broken, file('c.yml', entry('two', after('new')))],
    {
      known: [known('old', { sourceFile: 'b.yml' })],
    },
  )
  assert.deepEqual(slugs, ['one'])
  assert.match(
    lines.find((line) => line.startsWith('c.yml'))!,
    /no active schedule "new".* Files with faults give nothing new/,
  )
})

test('a schedule that something else still needs does not go, nor does anything else of its file change', () => {
  const gone = known('gone')
  const ui = known('by-hand', { source: 'ui', sourceFile: null, parentId: gone.id, name: 'By hand' })
  const { lines, slugs, gone: removed } = plan([file('a.yml', entry('fresh'))], { known: [gone, ui] })
  assert.deepEqual([slugs, removed], [[], []])
  assert.match(lines[0]!, /^a\.yml: "gone" is gone from here, but is still needed by "By hand" \(waits for it\)/)
})

test('a file that is gone whole gives up what nobody needs, and keeps what somebody does', () => {
  const needed = known('needed', { sourceFile: 'old.yml' })
  const free = known('free', { sourceFile: 'old.yml' })
  const ui = known('by-hand', { source: 'ui', sourceFile: null, defersTo: ['needed'] })
  const { lines, gone } = plan([file('a.yml', entry('one'))], { known: [needed, free, ui] })
  assert.deepEqual(gone, ['free'])
  assert.match(lines[0]!, /^old\.yml: "needed" is gone from here/)
})

test('when a file loses what another still refers to, neither changes anything', () => {
  const base = known('base', { sourceFile: 'b.yml' })
  const child = known('child', { sourceFile: 'a.yml', parentId: base.id })
  const { slugs, gone, lines } = plan([file('a.yml', entry('child', after('base'))), file('b.yml', entry('other'))], {
    known: [base, child],
  })
  assert.deepEqual([slugs, gone], [[], []])
  assert.match(lines[0]!, /^a\.yml:6:27: .*no active schedule "base"/)
  assert.match(lines[1]!, /^b\.yml: "base" is gone from here, but is still needed by "child"/)
})

test('a schedule that moves between files stays the same one; from a file with faults it cannot', () => {
  const one = known('one', { sourceFile: 'old.yml' })
  assert.deepEqual(plan([file('new.yml', entry('one'))], { known: [one] }).gone, [])
  const { lines, slugs } = plan([file('new.yml', entry('one')), file('old.yml', entry('x', 'nonsense: 1\n'))], {
    known: [one],
  })
  assert.deepEqual(slugs, [])
  assert.match(lines[0]!, /^new\.yml:2:11: .*comes from old\.yml, which has faults/)
})
