// The first start on an empty database makes something to look at: an account, a workspace with a repository that is
// really there, schedules whose first runs are on their way, agents, an administrator, a key. `yardmaster setup` before it, or demo: false, leaves all of this out.
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDemoRepository } from '../adapters/demo-repository.ts'
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import { createEnvironment } from '../app/environments.ts'
import { createApiKey } from '../app/keys.ts'
import { createSchedule } from '../app/schedules.ts'
import { isSetUp, setUp } from '../app/set-up.ts'
import { createSignInLink } from '../app/sign-in.ts'
import { triggerRun } from '../app/trigger-run.ts'
import { inTransaction } from '../store/database.ts'

export interface FirstStart {
  readonly workspaceUid: string
  readonly adminEmail: string
  readonly signInLink: string
  readonly key: string
  readonly keyFile: string
  readonly scheduleSlug: string
  readonly runId: number
}

const ADMIN_EMAIL = 'admin@yardmaster.localhost'
const LINK_MINUTES = 24 * 60

/**
 * Null when the deployment is set up already. One transaction around all of it: a start that is killed in the middle
 * leaves nothing, and the next one does it again.
 */
export async function firstStart(app: App, dataFolder: string, path: string): Promise<FirstStart | null> {
  if (await isSetUp(systemContext(app, 'first start'))) return null
  const repository = join(dataFolder, 'demo-repository')
  await makeDemoRepository(repository, path)
  return await inTransaction(app.db, (db) => makeDemo({ ...app, db }, repository, join(dataFolder, 'first-key')))
}

async function makeDemo(app: App, repository: string, keyFile: string): Promise<FirstStart> {
  const system = systemContext(app, 'first start')
  const { workspace, admin } = await setUp(system, {
    accountName: 'Yardmaster',
    workspaceName: 'Demo',
    adminEmail: ADMIN_EMAIL,
    adminName: 'Administrator',
  })
  const inWorkspace = systemContext(app, 'first start', workspace)
  const environment = await createEnvironment(inWorkspace, {
    displayName: 'production',
    repositoryUrl: repository,
    isDefault: true,
  })
  const { slug: scheduleSlug } = await createSchedule(inWorkspace, {
    name: 'hello',
    schedule: '*/5 * * * *',
    environment: environment.slug,
    description: 'Says hello, counts the orders and leaves a report.',
    ownerEmail: ADMIN_EMAIL,
    commands: ['sh scripts/hello.sh', 'sh scripts/count.sh', 'sh scripts/report.sh'],
  })
  const { runId } = await triggerRun(inWorkspace, { slug: scheduleSlug, reason: 'The first start of the service' })
  // One that fails, so that an agent has something to explain.
  const customers = await createSchedule(inWorkspace, {
    name: 'customers',
    schedule: 'OFF',
    environment: environment.slug,
    description: 'Fails until somebody adds data/customers.csv. Ask the agent explainer why.',
    ownerEmail: ADMIN_EMAIL,
    commands: ['sh scripts/customers.sh'],
  })
  await triggerRun(inWorkspace, { slug: customers.slug, reason: 'The first start of the service' })
  const { key } = await createApiKey(system, {
    name: 'first key',
    kind: 'account',
    workspaceUid: null,
    capabilities: null,
    client: null,
    expiresDays: null,
  })
  // Before the commit: a key that exists is a key that its owner can read.
  const file = await open(keyFile, 'w', 0o600)
  try {
    await file.writeFile(`${key}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  const signInLink = await createSignInLink(system, admin, LINK_MINUTES)
  return { workspaceUid: workspace.uid, adminEmail: admin.email, signInLink, key, keyFile, scheduleSlug, runId }
}
