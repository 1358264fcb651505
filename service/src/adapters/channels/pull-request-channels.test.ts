import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { githubReceiver } from '../../../test/receivers/github.ts'
import { gitlabReceiver } from '../../../test/receivers/gitlab.ts'
import type { CommitStatus, PullComment } from '../../domain/messages/pull-request.ts'
import { commentOf } from '../../domain/messages/pull-request.ts'
import type { EarlierResult, Outgoing } from '../../ports/channel.ts'
import { outgoingHttp } from '../outgoing-http.ts'
import { githubChannel } from './github.ts'
import { gitlabChannel } from './gitlab.ts'

const deps = {
  http: outgoingHttp({ allow: ['127.0.0.1'], allowHttp: true, timeoutMs: 2000 }),
  clock: { now: () => new Date() },
}
const github = await githubReceiver()
const gitlab = await gitlabReceiver()
after(async () => {
  await github[Symbol.asyncDispose]()
  await gitlab[Symbol.asyncDispose]()
})

const COMMIT = 'c'.repeat(40)
const status = (more: Partial<CommitStatus> = {}): CommitStatus => ({
  path: 'acme/shop',
  commit: COMMIT,
  context: 'yardmaster/nightly',
  state: 'running',
  description: 'is running',
  url: 'https://yard.example.com/runs/1',
  ...more,
})
const comment = (text: string, number = 7): PullComment => ({
  path: 'acme/shop',
  number,
  marker: `yard #${number}`,
  text,
})

const HOSTS = [
  { name: 'GitHub', receiver: github, channel: githubChannel(deps), comments: github.comments },
  { name: 'GitLab', receiver: gitlab, channel: gitlabChannel(deps), comments: gitlab.notes },
] as const

for (const { name, receiver, channel, comments } of HOSTS) {
  const send = (event: string, body: unknown, more: Partial<Outgoing> = {}) =>
    channel.send(
      {
        id: crypto.randomUUID(),
        event,
        address: '',
        body,
        settings: { apiUrl: receiver.url },
        secrets: { token: receiver.token },
        earlier: [],
        ...more,
      },
      new AbortController().signal,
    )

  test(`${name} is told the state of a commit, and a repetition changes nothing`, async () => {
    for (const state of ['running', 'success'] as const)
      for (let time = 0; time < 2; time++) assert.equal((await send('status', status({ state }))).kind, 'delivered')
    const last = receiver.statuses.at(-1)!
    assert.deepEqual([last.commit, last.state], [COMMIT, 'success'])
    const long = await send('status', status({ state: 'failure', description: 'x'.repeat(1000) }))
    assert.equal(long.kind, 'delivered')
    assert.deepEqual(
      receiver.refused.filter(({ answer }) => answer.status !== 400),
      [],
    )
  })

  test(`${name} has one comment for a pull request, whatever becomes of answers`, async () => {
    receiver.behave({ kind: 'answer lost' }, 2)
    // The first look and the first writing get lost; the writing happens all the same.
    assert.equal((await send('comment', comment('first'))).kind, 'again')
    const tries: string[] = []
    let earlier: EarlierResult[] = []
    for (const text of ['first', 'second', 'third']) {
      const sent = await send('comment', comment(text), { earlier })
      tries.push(sent.kind)
      if (sent.kind === 'delivered') earlier = [{ event: 'comment', result: sent.result! }]
    }
    assert.ok(tries.includes('delivered'))
    const mine = comments.filter((one) => one.number === 7)
    assert.equal(mine.length, 1)
    assert.match(mine[0]!.body, /^<!-- yard #7 -->\nthird$/)
    // Somebody took it away: there is a new one.
    comments.splice(comments.indexOf(mine[0]!), 1)
    assert.equal((await send('comment', comment('fourth'), { earlier })).kind, 'delivered')
    assert.deepEqual(
      comments.filter((one) => one.number === 7).map((one) => one.body),
      ['<!-- yard #7 -->\nfourth'],
    )
  })

  test(`${name} refuses a spoiled message and a wrong token for good, and is tried again when it is down`, async () => {
    const before = receiver.statuses.length
    for (const spoiled of [{ url: 'no address' }, { state: 'odd' as never }]) {
      assert.equal((await send('status', status({ context: 'spoiled', ...spoiled }))).kind, 'refused')
    }
    assert.equal((await send('comment', comment('', 8), { secrets: { token: 'wrong' } })).kind, 'refused')
    assert.equal((await send('status', status(), { secrets: {} })).kind, 'refused')
    receiver.behave({ kind: 'status', status: 502 }, 1)
    assert.equal((await send('status', status({ context: 'down' }))).kind, 'again')
    receiver.behave({ kind: 'redirect', to: 'http://127.0.0.1:1/' }, 1)
    assert.notEqual((await send('status', status({ context: 'down' }))).kind, 'delivered')
    assert.equal(receiver.statuses.length, before)
  })
}

test('a comment shows each schedule in a row, and no name of one breaks out of it', () => {
  const runs = [
    { runId: 1, scheduleName: 'Nightly', state: 'succeeded', seconds: 75, url: 'https://y.example.com/1' },
    { runId: 2, scheduleName: 'a|b\n@everyone <b>', state: 'errored', seconds: 4.2, url: 'https://y.example.com/2' },
    { runId: 3, scheduleName: 'Slow', state: 'running', seconds: null, url: 'https://y.example.com/3' },
  ]
  assert.equal(
    commentOf(COMMIT, runs),
    [
      '**Yardmaster** on cccccccccccc',
      '',
      '| Schedule | Result | Took | |',
      '|---|---|---|---|',
      '| Nightly | ✅ passed | 1 min 15 s | [run 1](https://y.example.com/1) |',
      '| a\\|b \\@everyone \\<b\\> | ❌ a command failed | 4 s | [run 2](https://y.example.com/2) |',
      '| Slow | ⏳ running |  | [run 3](https://y.example.com/3) |',
    ].join('\n'),
  )
})
