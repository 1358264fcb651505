import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { SMTPServerOptions } from 'smtp-server'
import { type Delivered, LINK, mailerConformance, mailTo } from '../../../test/conformance/mailer.ts'
import { selfSigned } from '../../../test/support/certificate.ts'
import { recordingMailer } from '../../../test/support/mailer.ts'
import { rudeServer, testSmtp } from '../../../test/support/smtp.ts'
import { createMailer } from './mailer.ts'
import { smtpMailer } from './smtp.ts'

const FROM = 'Yardmaster <yardmaster@mail.example.com>'
const never = new AbortController().signal

mailerConformance('over SMTP', async () => {
  const server = await testSmtp()
  const mailer = createMailer({ smtpUrl: server.url, from: FROM, write: () => assert.fail('nothing is shown') })
  return {
    mailer,
    delivered: () =>
      server.received.map(({ recipients, headers, text }) => ({
        to: recipients,
        subject: headers.get('subject')!.join('\n'),
        text,
        messageId: headers.get('message-id')![0]!,
      })),
    [Symbol.asyncDispose]: async () => {
      mailer.close()
      await server[Symbol.asyncDispose]()
    },
  }
})

mailerConformance('shown beside the log', async () => {
  const shown: string[] = []
  return {
    mailer: createMailer({ smtpUrl: null, from: FROM, write: (text) => shown.push(text) }),
    delivered: () =>
      shown.map((text): Delivered => {
        const lines = text
          .split('\n')
          .slice(1)
          .map((line) => line.replace(/^ {2}\| ?/, ''))
        const value = (index: number, name: string) => lines[index]!.slice(`${name}: `.length)
        return { to: [value(0, 'To')], subject: value(1, 'Subject'), text: lines.slice(3).join('\n'), messageId: null }
      }),
    [Symbol.asyncDispose]: async () => {},
  }
})

mailerConformance('that only remembers, for tests', async () => {
  const mailer = recordingMailer()
  return {
    mailer,
    delivered: () => mailer.sent.map(({ to, subject, text, id }) => ({ to: [to], subject, text, messageId: id })),
    [Symbol.asyncDispose]: async () => {},
  }
})

test("a mail names its sender, its kind and an id of the sender's host", async () => {
  await using server = await testSmtp()
  const mailer = smtpMailer({ url: server.url, from: FROM })
  await mailer.send(mailTo('ana@example.com'), never)
  const { headers } = server.received[0]!
  assert.deepEqual(headers.get('from'), [FROM])
  assert.deepEqual(headers.get('to'), ['ana@example.com'])
  assert.deepEqual(headers.get('message-id'), ['<0b1e6c1e-8d5c-4a7e-9a53-0d8b6a1f2c3d@mail.example.com>'])
  assert.deepEqual(headers.get('auto-submitted'), ['auto-generated'])
  assert.match(headers.get('content-type')![0]!, /^text\/plain; charset=utf-8/)
})

test('two addresses in one field are one bad address, not two recipients', async () => {
  await using server = await testSmtp()
  const mailer = smtpMailer({ url: server.url, from: FROM })
  for (const to of ['ana@example.com, eve@example.com', '<ana@example.com> <eve@example.com>']) {
    await assert.rejects(mailer.send(mailTo(to), never))
  }
  assert.deepEqual(server.received, [])
})

test('a recipient that the server refuses is an error with the words of the server', async () => {
  await using server = await testSmtp({
    onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })),
  })
  const mailer = smtpMailer({ url: server.url, from: FROM })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /no such mailbox/)
})

test('a message that the server refuses at its end is an error', async () => {
  await using server = await testSmtp({
    onData: (stream, _session, done) => {
      stream.resume()
      stream.on('end', () => done(Object.assign(new Error('mailbox is full'), { responseCode: 452 })))
    },
  })
  const mailer = smtpMailer({ url: server.url, from: FROM })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /mailbox is full/)
})

test('a server that is down fails both sending and the check', async () => {
  const server = await testSmtp()
  const { url } = server
  await server[Symbol.asyncDispose]()
  const mailer = smtpMailer({ url, from: FROM })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /ECONNREFUSED/)
  await assert.rejects(mailer.verify(), /ECONNREFUSED/)
})

const greet = '220 slow.example.com ESMTP\r\n'

test('a server that says nothing ends in the limit of a phase', async () => {
  await using server = await rudeServer(() => {})
  const mailer = smtpMailer({ url: server.url, from: FROM, limits: { phaseMs: 60 } })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /Greeting never received|Timeout/)
  await assert.rejects(mailer.verify(), /Greeting never received|Timeout/)
})

test('a server that falls silent after its greeting ends in the limit of a phase', async () => {
  await using server = await rudeServer((socket) => void socket.write(greet))
  const mailer = smtpMailer({ url: server.url, from: FROM, limits: { phaseMs: 60 } })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /Timeout/)
})

test('a server that drips a byte at a time ends in the limit of the whole, and its connection with it', async () => {
  const ended = Promise.withResolvers<void>()
  await using server = await rudeServer((socket) => {
    socket.write(greet)
    const drip = setInterval(() => socket.write('2'), 10)
    socket.on('close', () => {
      clearInterval(drip)
      ended.resolve()
    })
  })
  const mailer = smtpMailer({ url: server.url, from: FROM, limits: { wholeMs: 150 } })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /was not done within 0\.15 s/)
  await ended.promise
})

test('a send that is called off in the middle, and every send once the mailer is closed, ends at once', async () => {
  const connected = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  await using server = await rudeServer((socket) => {
    socket.write(greet)
    connected.resolve()
    socket.on('close', () => ended.resolve())
  })
  const mailer = smtpMailer({ url: server.url, from: FROM })
  const controller = new AbortController()
  const sending = mailer.send(mailTo('ana@example.com'), controller.signal)
  await connected.promise
  controller.abort(new Error('the job was cancelled'))
  await assert.rejects(sending, /the job was cancelled/)
  await ended.promise
  const verifying = mailer.verify()
  mailer.close()
  await assert.rejects(verifying, /stopping/)
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never), /stopping/)
})

test('a server that hangs up in the middle is an error, not a wait', async () => {
  await using server = await rudeServer((socket) => {
    socket.write(greet)
    once(socket, 'data').then(
      () => socket.end(),
      () => {},
    )
  })
  const mailer = smtpMailer({ url: server.url, from: FROM })
  await assert.rejects(mailer.send(mailTo('ana@example.com'), never))
})

const withPassword: SMTPServerOptions = {
  authOptional: false,
  disabledCommands: ['STARTTLS'],
  allowInsecureAuth: true,
  onAuth: ({ username, password }, _session, done) =>
    username === 'yard' && password === 'p@ss:word'
      ? done(null, { user: 'yard' })
      : done(new Error('wrong password'), { user: null }),
}

test('credentials of the address are used, percent-encoding undone, and a wrong password is found by the check', async () => {
  await using server = await testSmtp(withPassword)
  const at = `127.0.0.1:${server.port}`
  const good = smtpMailer({ url: `smtp://yard:p%40ss%3Aword@${at}`, from: FROM })
  await good.verify()
  await good.send(mailTo('ana@example.com'), never)
  assert.equal(server.received.length, 1)
  const bad = smtpMailer({ url: `smtp://yard:wrong@${at}`, from: FROM })
  await assert.rejects(
    bad.verify(),
    (error: Error) => !error.message.includes('p@ss') && /Invalid login/.test(error.message),
  )
})

test('a password goes to another machine only inside TLS, unless the address says otherwise', async () => {
  // Not one of the names that count as this machine, and still reached without a network.
  const host = '127.0.0.2'
  const url = (server: { port: number }, query: string) => `smtp://yard:p%40ss%3Aword@${host}:${server.port}${query}`
  await using plain = await testSmtp(withPassword, host)
  await assert.rejects(smtpMailer({ url: url(plain, ''), from: FROM }).verify(), /STARTTLS/)
  await smtpMailer({ url: url(plain, '?requireTLS=false'), from: FROM }).verify()

  await using secured = await testSmtp({ ...withPassword, disabledCommands: [], ...selfSigned() }, host)
  await assert.rejects(smtpMailer({ url: url(secured, ''), from: FROM }).verify(), /self-signed|certificate/)
  const trusting = smtpMailer({ url: url(secured, '?requireTLS=true&verifyCertificate=false'), from: FROM })
  await trusting.send(mailTo('ana@example.com'), never)
  assert.equal(secured.received.length, 1)
})

test('an address of a mail server with other options is refused when the mailer is made', () => {
  for (const query of ['?sendmail=true', '?requireTLS=maybe', '?tls.rejectUnauthorized=false']) {
    assert.throws(() => smtpMailer({ url: `smtp://127.0.0.1${query}`, from: FROM }), /may end in \?requireTLS/)
  }
})

test('what is shown beside the log cannot steer a terminal, and the link in it is whole', async () => {
  const shown: string[] = []
  const mailer = createMailer({ smtpUrl: null, from: FROM, write: (text) => shown.push(text) })
  await mailer.send(
    mailTo('ana@example.com', { subject: '\u001b[2Jhello\u0007', text: `a\u009b31m\r\n${LINK}` }),
    never,
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  assert.doesNotMatch(shown[0]!, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
  assert.ok(shown[0]!.includes(`| ${LINK}`))
  assert.match(shown[0]!, /YARDMASTER_SMTP_URL/)
})
