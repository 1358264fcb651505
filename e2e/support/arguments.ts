// Good arguments for every served operation that takes any, with every optional one given: what tests alter one by one.
import type { GraphQLObjectType } from 'graphql'
import { buildASTSchema, parse } from 'graphql'
import { readContract } from '../../service/src/api/graphql/schema.ts'

export const schema = buildASTSchema(parse(readContract()))

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
export type Arguments = Readonly<Record<string, Json>>

const environment = {
  displayName: 'Production',
  type: 'SCHEDULER',
  isDefault: true,
  repositoryUrl: 'https://git.example.com/x.git',
  defaultBranch: 'main',
  deploymentBranch: 'live',
  installStep: 'make install',
  pythonPackages: ['dbt-core==1.10.0'],
  excludedFiles: ['x/**'],
  workerLabels: ['gpu'],
  stopSeconds: 5,
}

const deferral = {
  enabled: true,
  successfulRunOnly: false,
  deferredScheduleSlug: 'nowhere',
  deferredScheduleName: 'nowhere',
}

const channel = { channel: 'data', events: ['failed'], templateSlug: 'short' }

const schedule = {
  name: 'Nightly',
  schedule: '0 3 * * *',
  environment: 'production',
  commands: ['dbt build'],
  gitBranch: 'main',
  description: 'builds',
  timezone: 'Europe/Berlin',
  ownerEmail: 'ana@example.com',
  suspended: true,
  slaSeconds: 60,
  triggerOnMerge: false,
  continueOnError: false,
  notifications: {
    slackNotifications: [channel],
    emailNotifications: [{ ...channel, channel: 'ana@example.com' }],
    teamsNotifications: [channel],
  },
  selfHealing: { enabled: false, slackChannel: 'data', agentName: 'mender' },
  envVars: [{ key: 'V', value: '1' }],
  integrations: {
    incidentIo: [{ visibility: 'public', status: 'triage' }],
    newRelic: [{ environment: 'eu' }],
  },
  scheduleTrigger: { enabled: false, scheduleName: 'parent', workspaceName: 'A', triggerOn: ['passed'] },
  overlap: 'SKIP',
  catchUp: 'ALL',
  catchUpWindowSeconds: 60,
  timeLimitSeconds: 60,
  labels: ['eu'],
}

const webhook = {
  url: 'https://hooks.example.com/x',
  description: 'to see',
  events: ['bolt.run.completed'],
  enabled: true,
}

const NO_ID = 2_147_483_647
const NO_SESSION = '0000000000000000'
const NO_DELIVERY = '00000000-0000-0000-0000-000000000000'

/** In a workspace that has an environment `production`. Ids and uids are nobody's. */
export const argumentsIn = (workspaceUid: string): Readonly<Record<string, Arguments>> => ({
  environments: { environmentType: 'SCHEDULER' },
  getAuditLogs: {
    ...{ offset: 0, limit: 10, from: '2024-01-01', to: '2030-01-01 12:00:00.5+01:00' },
    ...{ eventType: 'user_invited', actorEmail: 'ana@example.com' },
  },
  inviteUser: { email: 'new@example.com', accountType: 'ANALYST' },
  updateUserAccountType: { uid: '0000000000000000', accountType: 'ANALYST' },
  disableUser: { uid: '0000000000000000' },
  createWorkspace: { name: 'Further' },
  renameWorkspace: { name: 'Renamed' },
  setAccountFeature: { feature: 'scheduling', enabled: true },
  setWorkspaceFeature: { feature: 'agents', enabled: true },
  createEnvironment: { environment },
  updateEnvironment: { slug: 'production', environment },
  archiveEnvironment: { slug: 'nowhere' },
  setVariable: { environment: 'production', name: 'V', value: '1' },
  deleteVariable: { environment: 'production', name: 'NONE' },
  setSecret: { environment: 'production', kind: 'VARIABLE', name: 'S', value: 'long enough' },
  deleteSecret: { environment: 'production', kind: 'VARIABLE', name: 'NONE' },
  createApiKey: {
    key: {
      name: 'k',
      kind: 'WORKSPACE',
      workspaceUid,
      capabilities: ['users:read'],
      client: 'paradime',
      expiresDays: 30,
    },
  },
  revokeApiKey: { id: 2_147_483_647 },
  createPersonalKey: { key: { name: 'k', capabilities: ['users:read'], expiresDays: 30 } },
  revokePersonalKey: { id: 2_147_483_647 },
  endSession: { id: 2_147_483_647 },
  listBoltSchedules: { offset: 0, limit: 10, showInactive: true, filter: { suspended: false } },
  boltScheduleName: { slug: 'nowhere', scheduleName: null },
  boltSchedule: { slug: 'nowhere' },
  nextFireTimes: { schedule: '0 3 * * *', timezone: 'Europe/Berlin', count: 3 },
  createBoltSchedule: { schedule },
  updateBoltSchedule: { slug: 'nowhere', schedule: { ...schedule, turboCi: deferral, deferredSchedule: deferral } },
  createScheduleSlugs: { displayNames: ['one'] },
  deleteBoltSchedule: { slug: null, scheduleName: 'nowhere' },
  suspendBoltSchedule: { slug: 'nowhere', scheduleName: null, suspend: true },
  listBoltRuns: { slug: 'nowhere', scheduleName: null, offset: 0, limit: 10 },
  boltRunStatus: { runId: NO_ID },
  boltCommand: { commandId: NO_ID },
  boltCommandLogs: { commandId: NO_ID, cursor: '0:0' },
  boltResourceUrl: { resourceId: NO_ID },
  boltRun: { runId: NO_ID },
  boltRunPage: {
    filter: { slug: 'nowhere', states: ['ERROR'], branch: 'main', prNumber: 1, actorEmail: 'ana@example.com' },
    after: 10,
    limit: 10,
  },
  searchCommandLog: { commandId: NO_ID, text: 'error', limit: 10 },
  commandLogUrl: { commandId: NO_ID, stream: 'STDOUT' },
  triggerBoltRun: {
    ...{ slug: 'nowhere', scheduleName: null, commands: ['true'], branch: 'main', prNumber: 1, reason: 'to see' },
    ...{ commandConfigs: [{ command: 'true', continueOnError: true }], continueOnError: false },
  },
  cancelBoltRun: { scheduleRunId: NO_ID },
  retryBoltRunFromFailure: { slug: 'nowhere', scheduleName: null },
  retryBoltRun: { scheduleRunId: NO_ID },
  retryAllBoltRun: { scheduleRunId: NO_ID },
  createWebhook: { webhook },
  updateWebhook: { id: NO_ID, webhook },
  deleteWebhook: { id: NO_ID },
  rotateWebhookSecret: { id: NO_ID, overlapHours: 1 },
  testWebhook: { id: NO_ID },
  createIntegration: {
    kind: 'TEAMS',
    name: 'data',
    settings: [],
    secrets: [{ name: 'url', value: 'https://x.example' }],
  },
  updateIntegration: {
    id: NO_ID,
    settings: [{ name: 'apiUrl', value: 'https://x.example' }],
    secrets: [{ name: 'token', value: 'long-enough' }],
  },
  removeIntegration: { id: NO_ID },
  testIntegration: { id: NO_ID, address: '#data' },
  testMail: { address: 'ana@example.com' },
  createMessageTemplate: { channel: 'EMAIL', name: 'short', slug: 'short', subject: 'x', text: '{{run.state}}' },
  updateMessageTemplate: { slug: 'nowhere', name: 'short', subject: 'x', text: '{{run.state}}' },
  deleteMessageTemplate: { slug: 'nowhere' },
  listDeliveries: {
    filter: { state: 'DEAD', channel: 'WEBHOOK', webhookId: NO_ID, runId: NO_ID },
    offset: 0,
    limit: 10,
  },
  delivery: { id: NO_DELIVERY },
  sendDeliveryAgain: { id: NO_DELIVERY },
  allowPullRequest: { id: NO_ID, commit: 'a'.repeat(40) },
  dinoaiAgentRun: { agentSessionId: NO_SESSION },
  listDinoaiAgentSessions: {
    filter: { agent: 'explainer', status: 'COMPLETED', parentSessionId: null },
    offset: 0,
    limit: 10,
  },
  dinoaiAgentToolOutput: { agentSessionId: NO_SESSION, call: 'c1' },
  triggerDinoaiAgentRun: {
    ...{ agent: 'nobody', message: 'Why?', slack: { channel: 'C1', threadTs: '1.1' } },
    ...{ baseBranch: 'main', modelFamily: 'large' },
  },
  sendDinoaiAgentMessage: { agentSessionId: NO_SESSION, message: 'And then?' },
  stopDinoaiAgentRun: { agentSessionId: NO_SESSION },
  listHealingRequests: { state: 'PROPOSED', offset: 0, limit: 10 },
  setModelFamily: {
    ...{ name: 'large', provider: 'OPENAI_COMPATIBLE', model: 'qwen3', isDefault: true },
    settings: [{ name: 'baseUrl', value: 'https://models.example.com/v1' }],
    secrets: [{ name: 'apiKey', value: 'long-enough' }],
  },
  removeModelFamily: { name: 'nowhere' },
  testModelFamily: { name: 'nowhere' },
  setAgentPolicy: {
    policy: {
      ...{ tools: ['read_file'], allTools: false, egressHosts: ['pypi.org'], maxSteps: 10, maxSeconds: 60 },
      ...{ maxTokens: 1000, maxCostDollars: 1.5, commitName: 'Agent', commitEmail: 'agent@example.com' },
    },
  },
  setMcpServer: {
    ...{ name: 'docs', url: 'https://mcp.example.com/x', tools: ['search'], allTools: false },
    headers: [{ name: 'Authorization', value: 'Bearer long-enough' }],
  },
  removeMcpServer: { name: 'nowhere' },
  cancelBoltRuns: { scheduleRunIds: [NO_ID] },
  retryBoltRuns: { scheduleRunIds: [NO_ID] },
})

/** Operations about oneself, which no key but a person's may ask for. */
export const OWN = ['me', 'listSessions', 'endSession', 'listPersonalKeys', 'createPersonalKey', 'revokePersonalKey']

export const fieldsOf = (type: GraphQLObjectType | null | undefined) => Object.values(type?.getFields() ?? {})

/** A document that takes every argument of the operation by a variable of its name. */
export function documentOf(operation: string): string {
  const isQuery = schema.getQueryType()!.getFields()[operation] !== undefined
  const field = schema.getQueryType()!.getFields()[operation] ?? schema.getMutationType()!.getFields()[operation]!
  const declared = field.args.map((one) => `$${one.name}: ${one.type}`).join(', ')
  const passed = field.args.map((one) => `${one.name}: $${one.name}`).join(', ')
  const args = passed === '' ? '' : `(${passed})`
  return `${isQuery ? 'query' : 'mutation'}${declared === '' ? '' : ` (${declared})`} { ${operation}${args} { __typename } }`
}

/** Every place of a value inside arguments, as the path to it. */
export function leavesOf(value: Json, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (Array.isArray(value)) return value.flatMap((one, at) => leavesOf(one, [...path, at]))
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, one]) => leavesOf(one as Json, [...path, name]))
}

export const at = (value: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown>)[step], value)

/** The same arguments with another value in one place. */
export function replaced(value: Json, path: readonly (string | number)[], other: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return other
  if (Array.isArray(value)) return value.map((one, index) => (index === step ? replaced(one, rest, other) : one))
  const object = value as Record<string, Json>
  return { ...object, [step]: replaced(object[step]!, rest, other) }
}
