// What holds for every page: how it is built, what it sends along, who may send its forms.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Answer, PASSWORD, type TestPages, type TestVisitor, testPages } from '../../../test/support/pages.ts'
import { createSignInLink, sendPasswordReset } from '../../app/sign-in.ts'
import { inviteUser } from '../../app/users.ts'

const pathOf = (link: string): string => new URL(link).pathname

interface Named {
  readonly name: string
  readonly answer: Answer
}

/** Every page once, in the state in which people see it. */
async function allPages(t: TestPages): Promise<Named[]> {
  const workspace = await t.workspace('Demo')
  const ana = await t.member(workspace, 'ADMIN', { email: 'ana@example.com', name: 'Ana', password: PASSWORD })
  const fresh = await t.member(workspace, 'ANALYST', { email: 'fresh@example.com' })
  const invite = async (email: string) =>
    pathOf((await inviteUser(t.inside(workspace), { email, accountType: 'ANALYST' })).link)
  const known = await t.person({ email: 'known@example.com', password: PASSWORD })
  const [stranger, signedIn, newcomer] = [t.visitor(), t.visitor(), t.visitor()]
  await signedIn.signIn(ana.email, PASSWORD)
  await newcomer.post(pathOf(await createSignInLink(t.system, fresh, 5)))
  const page = async (name: string, answer: Promise<Answer>): Promise<Named> => ({ name, answer: await answer })
  return [
    await page('sign in', stranger.get('/signin')),
    await page('sign in, again', stranger.signIn('ana@example.com', 'wrong')),
    await page('welcome', stranger.get(pathOf(await createSignInLink(t.system, ana, 5)))),
    await page('invitation of somebody new', stranger.get(await invite('new@example.com'))),
    await page('invitation of somebody known', stranger.get(await invite(known.email))),
    await page('reset: ask', stranger.get('/reset')),
    await page('reset: asked', stranger.post('/reset', { email: 'nobody@example.com' })),
    await page('reset: set', stranger.get(pathOf(await sendPasswordReset(t.system, ana)))),
    await page('reset: set, again', stranger.post(pathOf(await sendPasswordReset(t.system, ana)), { password: 'a' })),
    await page('start page', signedIn.get('/')),
    await page('change the password', signedIn.get('/account/password')),
    await page('choose a password', newcomer.get('/account/password')),
    await page('dead link', stranger.get('/welcome/ymt_dead')),
    await page('foreign form', stranger.post('/signin', {}, { origin: 'https://evil.example' })),
    await page('sent on', stranger.get('/', { 'sec-fetch-site': 'cross-site' })),
  ]
}

const tags = (html: string, name: string): string[] => html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []
const attribute = (tag: string, name: string): string | null => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? null

describe('every page', () => {
  let pages: readonly Named[] = []

  test('is answered', async () => {
    await using t = await testPages()
    pages = await allPages(t)
    for (const { name, answer } of pages) {
      assert.match(answer.headers['content-type']!, /^text\/html; charset=utf-8$/, name)
      assert.ok(answer.status < 500 && answer.location === null, `${name}: ${answer.status} ${answer.location}`)
    }
  })

  test('has a language, a title, one heading and one main, and says how wide it may be', () => {
    for (const { name, answer } of pages) {
      const { html } = answer
      assert.match(html, /^<!doctype html>\n<html lang="en">/, name)
      assert.match(html, /<title>[^<]+ · Yardmaster<\/title>/, name)
      assert.equal(tags(html, 'h1').length, 1, name)
      assert.equal(tags(html, 'main').length, 1, name)
      assert.match(html, /<meta name="viewport" content="width=device-width, initial-scale=1">/, name)
    }
  })

  test('has a label for every input that is seen, an id only once, and the right word for password managers', () => {
    const words: Record<string, string> = {
      email: 'username',
      name: 'name',
      current: 'current-password',
      password: '(current|new)-password',
      again: 'new-password',
    }
    let inputs = 0
    for (const { name, answer } of pages) {
      const { html } = answer
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map((match) => match[1])
      assert.equal(new Set(ids).size, ids.length, name)
      for (const input of tags(html, 'input')) {
        if (attribute(input, 'type') === 'hidden') continue
        inputs++
        const field = attribute(input, 'name')!
        assert.match(html, new RegExp(`<label for="${attribute(input, 'id')}">[^<]+</label>`), `${name}: ${input}`)
        assert.match(attribute(input, 'autocomplete')!, new RegExp(`^${words[field]}$`), `${name}: ${input}`)
        assert.ok(/ (required|readonly)/.test(input), `${name}: ${input}`)
        const described = attribute(input, 'aria-describedby')
        if (described !== null) assert.ok(ids.includes(described), name)
        if (/password/.test(attribute(input, 'autocomplete')!)) assert.equal(attribute(input, 'type'), 'password')
      }
      for (const labelled of [...html.matchAll(/aria-labelledby="([^"]*)"/g)])
        assert.ok(ids.includes(labelled[1]), name)
    }
    assert.ok(inputs > 15)
  })

  test('puts the focus where typing or pressing begins, once', () => {
    for (const { name, answer } of pages) {
      const forms = tags(answer.html, 'form').filter((form) => !form.includes('/signout'))
      const focused = answer.html.match(/ autofocus/g) ?? []
      assert.equal(focused.length, forms.length === 0 ? 0 : 1, name)
    }
  })

  test('has no script, no style of its own inside it and nothing from elsewhere', () => {
    for (const { name, answer } of pages) {
      assert.doesNotMatch(answer.html, /<script|<style|<img|<iframe| style=| on[a-z]+="|javascript:/i, name)
      for (const [, url] of answer.html.matchAll(/(?:href|action)="([^"]*)"/g)) assert.match(url!, /^\/(?!\/)/, name)
      for (const form of tags(answer.html, 'form')) assert.equal(attribute(form, 'method'), 'post')
    }
  })

  test('says what browsers may do with it', () => {
    for (const { name, answer } of pages) {
      assert.equal(
        answer.headers['content-security-policy'],
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        name,
      )
      // With no-referrer, browsers would send "Origin: null" with our own forms.
      assert.equal(answer.headers['referrer-policy'], 'same-origin', name)
      assert.equal(answer.headers['cache-control'], 'no-store', name)
      assert.equal(answer.headers['x-content-type-options'], 'nosniff', name)
    }
  })
})

test('the stylesheet is served to everybody, and knows both light and dark', async () => {
  await using t = await testPages()
  const page = await t.visitor().get('/signin')
  const url = /href="(\/pages\.css\?[0-9a-f]{16})"/.exec(page.html)![1]!
  const sheet = await t.visitor().get(url)
  assert.equal(sheet.status, 200)
  assert.match(sheet.headers['content-type']!, /^text\/css/)
  assert.match(sheet.headers['cache-control']!, /immutable/)
  assert.match(sheet.html, /prefers-color-scheme: dark/)
  assert.match(sheet.html, /:focus-visible/)
  assert.doesNotMatch(sheet.html, /url\(|@import/)
})

test('colours of text and of what can be operated stand out from what is behind them, in light and in dark', async () => {
  await using t = await testPages()
  const css = (await t.visitor().get('/pages.css')).html
  const [light, dark] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(
    (match) => new Map([...match[1]!.matchAll(/--([a-z-]+): (#[0-9a-f]{6})/g)].map((one) => [one[1]!, one[2]!])),
  )
  const luminance = (colour: string): number => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
  }
  for (const colours of [light!, dark!]) {
    const ratio = (a: string, b: string): number => {
      const [high, low] = [luminance(colours.get(a)!), luminance(colours.get(b)!)].sort((x, y) => y - x)
      return (high! + 0.05) / (low! + 0.05)
    }
    // WCAG 2.2 AA: 4.5 for text, 3 for the edge of a field and for the focus.
    const texts = [
      ['text', 'sheet'],
      ['text', 'ground'],
      ['quiet', 'sheet'],
      ['accent', 'sheet'],
      ['accent-strong', 'sheet'],
      ['on-accent', 'accent'],
      ['on-accent', 'accent-strong'],
      ['error', 'error-ground'],
      ['text', 'code'],
      ['quiet', 'code'],
    ] as const
    for (const [a, b] of texts) assert.ok(ratio(a, b) >= 4.5, `${a} on ${b}: ${ratio(a, b).toFixed(2)}`)
    for (const [a, b] of [
      ['edge', 'sheet'],
      ['accent', 'ground'],
    ] as const)
      assert.ok(ratio(a, b) >= 3, `${a} on ${b}`)
  }
})

describe('a form', () => {
  // What browsers send with a POST: of our pages, of a foreign page, of a page without an origin, of nothing at all.
  const CASES: readonly { name: string; headers: Record<string, string>; ours: boolean }[] = [
    { name: 'our own origin', headers: { origin: 'http://127.0.0.1:4400' }, ours: true },
    { name: 'this machine by another name', headers: { origin: 'http://localhost:4400' }, ours: true },
    { name: 'no origin, same-origin by the browser', headers: { 'sec-fetch-site': 'same-origin' }, ours: true },
    { name: 'a foreign origin', headers: { origin: 'https://evil.example' }, ours: false },
    {
      name: 'a foreign origin that says it is ours',
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      ours: false,
    },
    { name: 'another port', headers: { origin: 'http://127.0.0.1:4401' }, ours: false },
    { name: 'another scheme', headers: { origin: 'https://127.0.0.1:4400' }, ours: false },
    {
      name: 'ours as the beginning of another',
      headers: { origin: 'http://127.0.0.1:4400.evil.example' },
      ours: false,
    },
    { name: 'an opaque origin', headers: { origin: 'null' }, ours: false },
    {
      name: 'an opaque origin that says it is ours',
      headers: { origin: 'null', 'sec-fetch-site': 'same-origin' },
      ours: false,
    },
    { name: 'a neighbour', headers: { 'sec-fetch-site': 'same-site' }, ours: false },
    { name: 'another site', headers: { 'sec-fetch-site': 'cross-site' }, ours: false },
    { name: 'typed into the address bar', headers: { 'sec-fetch-site': 'none' }, ours: false },
    { name: 'nothing', headers: {}, ours: false },
    {
      name: 'a host header that agrees',
      headers: { origin: 'http://evil.example', host: 'evil.example' },
      ours: false,
    },
  ]

  test('of another page does nothing on any route, and of our own is read', async () => {
    await using t = await testPages()
    const posts = t.server.routeTable.filter((route) => route.method === 'POST').map((route) => route.url)
    assert.deepEqual(posts.sort(), [
      '/account/password',
      '/invitation/:token',
      '/reset',
      '/reset/:token',
      '/signin',
      '/signout',
      '/welcome/:token',
    ])
    for (const url of posts) {
      for (const { name, headers, ours } of CASES) {
        const response = await t.server.inject({
          method: 'POST',
          url: url.replace(':token', 'ymt_none'),
          headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
          payload: '',
        })
        assert.equal(response.statusCode !== 403, ours, `${url}, ${name}: ${response.statusCode}`)
      }
    }
  })

  test('of another page is refused before it is read, and signs nobody in or out', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    const ana = await t.member(workspace, 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor()
    const evil = { origin: 'https://evil.example' }
    const refused = await visitor.post('/signin', { email: ana.email, password: PASSWORD }, evil)
    assert.equal(refused.status, 403)
    assert.deepEqual(refused.cookies, [])
    assert.match(refused.text, /http:\/\/127\.0\.0\.1:4400/)
    await visitor.signIn(ana.email, PASSWORD)
    assert.equal((await visitor.post('/signout', {}, evil)).status, 403)
    assert.equal((await visitor.get('/')).status, 200)
    const large = await visitor.post('/signin', { email: 'x'.repeat(100_000) }, evil)
    assert.equal(large.status, 403)
  })

  test('is read in one type and up to a size, and nothing else is', async () => {
    await using t = await testPages()
    const visitor = t.visitor()
    const post = (type: string, payload = '{}') =>
      t.server.inject({
        method: 'POST',
        url: '/signin',
        headers: { origin: 'http://127.0.0.1:4400', 'content-type': type },
        payload,
      })
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'application/xml']) {
      const response = await post(type)
      assert.equal(response.statusCode, 415, type)
      assert.match(response.headers['content-type'] as string, /^text\/html/)
    }
    assert.equal((await visitor.signIn('a'.repeat(16 * 1024), 'b')).status, 413)
    assert.equal((await post('application/x-www-form-urlencoded', 'email=a&email=b')).statusCode, 400)
    const many = Array.from({ length: 21 }, (_, index) => `f${index}=1`).join('&')
    assert.equal((await post('application/x-www-form-urlencoded', many)).statusCode, 400)
    assert.equal(
      (await post('application/x-www-form-urlencoded', '%00=%ff&email=%00&password=%F0%9F%99%88')).statusCode,
      401,
    )
  })
})

test('a name with markup in it is shown as it is written, wherever it is shown', async () => {
  await using t = await testPages()
  const evil = `<script>alert(1)</script>"'><img src=x>`
  const workspace = await t.workspace(evil)
  const ana = await t.member(workspace, 'ADMIN', { name: evil, email: `"><b>@example.com`, password: PASSWORD })
  const { link } = await inviteUser(t.inside(workspace), { email: `a'b&c@example.com`, accountType: 'ANALYST' })
  const visitor: TestVisitor = t.visitor()
  const answers = [
    await visitor.get(pathOf(link)),
    await visitor.post(pathOf(link), { name: evil, password: 'short', again: 'short' }),
    await visitor.signIn(evil, 'wrong'),
    await visitor.post('/reset', { email: evil }),
    await visitor.get(`/signin?next=${encodeURIComponent(`/x"><script>`)}`),
  ]
  await visitor.post(pathOf(await createSignInLink(t.system, ana, 5)))
  answers.push(await visitor.get('/'), await visitor.get('/account/password'))
  for (const { html } of answers) assert.doesNotMatch(html, /<script|<img|<b>|"'>/)
  assert.ok(answers.at(-2)!.html.includes('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img src=x&gt;'))
})

test('a database that does not answer is a page that says so, and a fault of ours one without its inside', async () => {
  const t = await testPages()
  try {
    await t.database.database.close()
    const visitor = t.visitor()
    const down = await visitor.signIn('ana@example.com', 'whatever it is')
    assert.equal(down.status, 503)
    assert.equal(down.headers['retry-after'], '2')
    assert.match(down.text, /database does not answer/)
  } finally {
    await t.close()
  }
  await using broken = await testPages()
  await broken.database.owner.kysely.schema.dropTable('session').execute()
  const ana = await broken.member(await broken.workspace(), 'ADMIN', { password: PASSWORD })
  const fault = await broken.visitor().signIn(ana.email, PASSWORD)
  assert.equal(fault.status, 500)
  assert.doesNotMatch(fault.html, /session|relation|at |\.ts/)
  const line = broken.lines.find((one) => one.level === 'error' && one.message === 'internal fault')
  assert.ok(fault.text.includes(String(line?.fields.requestId)))
})
