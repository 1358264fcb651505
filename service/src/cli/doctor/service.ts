// What the service talks to and whether it runs.
import { request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { createMailer } from '../../adapters/mail/mailer.ts'
import type { Config } from '../../config/schema.ts'
import { runningService } from '../app.ts'
import { check, type Finding, ok, warn } from './finding.ts'

const PATIENCE_MS = 10_000

export async function serviceChecks(config: Config): Promise<Finding[]> {
  return [
    await check('mail', 'Check YARDMASTER_SMTP_URL: address, user, password.', () => mail(config)),
    await check('service', 'Look into the log of the service.', () => service(config)),
  ]
}

async function mail(config: Config) {
  const smtpUrl = config.mail.smtpUrl?.reveal() ?? null
  if (smtpUrl === null) {
    return ok('not set up: links of invitations and resets are written where the service logs (YARDMASTER_SMTP_URL)')
  }
  const mailer = createMailer({ smtpUrl, from: config.mail.from, write: () => {} })
  const patience = Promise.withResolvers<never>()
  const timer = setTimeout(() => patience.reject(new Error('the mail server did not answer in time')), PATIENCE_MS)
  try {
    await Promise.race([mailer.verify(), patience.promise])
    return ok('the mail server answers and takes the credentials')
  } finally {
    clearTimeout(timer)
    mailer.close()
  }
}

async function service(config: Config) {
  const running = await runningService(config)
  if (running === null) return ok('not running on this data folder (yardmaster serve)')
  const who = `pid ${running.pid}, version ${running.version}, since ${running.startedAt}`
  const status = await statusOf(`${running.url}/healthz`)
  if (status === 200) return ok(`running at ${running.url} (${who})`)
  const said = status === null ? 'does not answer' : `answers ${status}`
  return warn(
    `${running.url} ${said} (${who})`,
    'Is publicUrl right, and can this machine reach it? Else look into the log of the service.',
  )
}

/** Alive is all that is asked, so a certificate for another name is good enough. */
function statusOf(url: string): Promise<number | null> {
  const options = { timeout: 5000, rejectUnauthorized: false }
  return new Promise((resolve) => {
    const request = (url.startsWith('https:') ? secure : plain)(url, options, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    request.on('error', () => resolve(null))
    request.on('timeout', () => request.destroy())
    request.end()
  })
}
