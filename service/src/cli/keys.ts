import { type Command, Option } from 'commander'
import type { CreatedKey, ListedKey, NewKeyInput } from '../app/keys.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../app/keys.ts'
import { CAPABILITIES } from '../domain/capability.ts'
import { keyStart } from '../domain/key.ts'
import { withApp } from './app.ts'
import { addCommand, addNoun, type Shell } from './command.ts'
import { numberArg, several, WORKSPACE, wholeNumber } from './options.ts'
import { pairs, table } from './table.ts'

interface CreateOptions {
  readonly kind: NewKeyInput['kind']
  readonly workspace?: string
  readonly name?: string
  readonly capability?: readonly string[]
  readonly client?: string
  readonly expiresDays?: number
}

const KINDS: readonly NewKeyInput['kind'][] = ['account', 'workspace', 'pair']

export function registerKeys(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'keys', 'API keys')
  create(noun, shell)
  list(noun, shell)
  revoke(noun, shell)
}

function create(noun: Command, shell: Shell): void {
  addCommand<CreateOptions>(
    noun,
    shell,
    {
      name: 'create',
      summary: 'make an API key, which is shown once',
      details:
        'An account key works in every workspace, a workspace key and a key pair in one. Without --capability the key ' +
        'holds all of them.',
      examples: [
        'yardmaster keys create --kind account --name deploy --capability bolt:schedules:admin --expires-days 90',
        'yardmaster keys create --kind account --json',
      ],
    },
    async ({ options, load, print }) => {
      const made = await withApp(load(), async (app) => {
        // The use case refuses an account key with a workspace; the other kinds need one.
        const bound = options.kind === 'account' ? options.workspace : (await app.workspace(options.workspace)).uid
        return await createApiKey(app.context(), {
          name: options.name ?? `${options.kind} key`,
          kind: options.kind,
          workspaceUid: bound ?? null,
          capabilities: options.capability ?? null,
          client: options.client ?? null,
          expiresDays: options.expiresDays ?? null,
        })
      })
      print(shownKey(made), keyText(made))
      return undefined
    },
  )
    .addOption(new Option('--kind <kind>', 'what it is good for').choices(KINDS).makeOptionMandatory())
    .option(...WORKSPACE)
    .option('--name <name>', 'what lists and the audit log call it (default: its kind)')
    .option('--capability <capability...>', `what it may do: ${CAPABILITIES.join(', ')} (default: all)`, several)
    .addOption(new Option('--client <client>', 'an existing client that the key is for').choices(['paradime']))
    .option('--expires-days <days>', 'after how many days it stops working (default: never)', wholeNumber(1, 3650))
}

function shownKey({ id, name, kind, key, secret, capabilities, expiresAt }: CreatedKey): object {
  return kind === 'pair'
    ? { id, name, kind, key, secret, capabilities, expiresAt }
    : { id, name, kind, key, capabilities, expiresAt }
}

function keyText(made: CreatedKey): string {
  const credentials: [string, string][] =
    made.kind === 'pair'
      ? [
          ['X-API-KEY', made.key],
          ['X-API-SECRET', made.secret],
        ]
      : [['Authorization', `Bearer ${made.key}`]]
  return (
    `Key ${made.id} (${made.kind}, "${made.name}"). It is shown this once; send it as:\n\n${pairs(credentials)}\n` +
    pairs([
      ['Capabilities', made.capabilities.join(', ')],
      ['Expires', made.expiresAt === null ? 'never' : `${made.expiresAt} UTC`],
    ])
  )
}

function list(noun: Command, shell: Shell): void {
  addCommand(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the keys of the account and its workspaces, revoked ones too',
      details: 'Personal keys belong to their owners and are not in the list.',
      examples: ['yardmaster keys list'],
    },
    async ({ load, print }) => {
      const rows = (await withApp(load(), (app) => listApiKeys(app.context()))).map(listedKey)
      print(
        rows,
        table(
          ['ID', 'NAME', 'KIND', 'BEGINS', 'WORKSPACE', 'CAPABILITIES', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'],
          rows.map((one) => [
            one.id,
            one.name,
            one.kind,
            one.begins,
            one.workspace,
            one.capabilities.length === CAPABILITIES.length ? 'all' : one.capabilities.join(','),
            day(one.createdAt),
            day(one.expiresAt),
            day(one.lastUsedAt),
            day(one.revokedAt),
          ]),
        ),
      )
      return undefined
    },
  )
}

const day = (time: string | null): string | null => time?.slice(0, 16) ?? null

const listedKey = (one: ListedKey) => ({
  id: one.id,
  name: one.name,
  kind: one.kind,
  begins: keyStart(one.kind, one.client, one.publicId),
  client: one.client,
  workspace: one.workspaceUid === '' ? null : one.workspaceUid,
  capabilities: one.capabilities,
  createdBy: one.createdByEmail,
  createdAt: one.createdAt,
  expiresAt: one.expiresAt,
  lastUsedAt: one.lastUsedAt,
  revokedAt: one.revokedAt,
})

function revoke(noun: Command, shell: Shell): void {
  addCommand(
    noun,
    shell,
    {
      name: 'revoke',
      args: [numberArg('id', 'the number of the key')],
      summary: 'revoke a key; its next request is refused',
      examples: ['yardmaster keys revoke 3'],
    },
    async ({ args, load, print }) => {
      const id = Number(args[0])
      await withApp(load(), (app) => revokeApiKey(app.context(), id))
      print({ id, revoked: true }, `Key ${id} is revoked.\n`)
      return undefined
    },
  )
}
