import { type Command, Option } from 'commander'
import { sendPasswordReset } from '../app/sign-in.ts'
import type { Member } from '../app/users.ts'
import { disableUser, INVITATION_DAYS, inviteUser, listUsers, updateUserAccountType } from '../app/users.ts'
import { listWorkspaces } from '../app/workspaces.ts'
import { ACCOUNT_TYPES, type AccountType } from '../domain/account-type.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { conflict, notFound } from '../domain/errors.ts'
import * as people from '../store/people.ts'
import { type CommandApp, withApp } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { accountType, WORKSPACE } from './options.ts'
import { table } from './table.ts'

interface InWorkspace {
  readonly workspace?: string
}

const EMAIL = arg('email', "the person's e-mail address")

export function registerUsers(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'users', 'people and their roles')
  invite(noun, shell)
  list(noun, shell)
  reset(noun, shell)
  disable(noun, shell)
  setType(noun, shell)
}

function invite(noun: Command, shell: Shell): void {
  addCommand<InWorkspace & { type: AccountType }>(
    noun,
    shell,
    {
      name: 'invite',
      args: [EMAIL],
      summary: 'invite a person into a workspace',
      details:
        `Prints the link that accepts the invitation, which works once, for ${INVITATION_DAYS} days, and mails it. ` +
        'Inviting again renews it and may change the type.',
      examples: ['yardmaster users invite ben@example.com --type DEVELOPER'],
    },
    async ({ args, options, load, print }) => {
      const done = await withApp(load(), async (app) => {
        const workspace = await app.workspace(options.workspace)
        const { link } = await inviteUser(app.context(workspace), { email: args[0]!, accountType: options.type })
        return { email: args[0]!.trim(), accountType: options.type, workspace: workspace.uid, link }
      })
      print(
        done,
        `${done.email} is invited as ${done.accountType}. The link works once, for ${INVITATION_DAYS} days:\n\n  ${done.link}\n`,
      )
      return undefined
    },
  )
    .option(...WORKSPACE)
    .addOption(
      new Option('--type <type>', `the account type: ${ACCOUNT_TYPES.join(', ')}`)
        .argParser(accountType)
        .makeOptionMandatory(),
    )
}

interface Row {
  readonly email: string
  readonly name: string
  readonly accountType: AccountType
  readonly status: 'active' | 'invited' | 'expired'
  /** Empty for an invitation. */
  readonly uid: string
  readonly workspace: string
}

async function rowsOf(app: CommandApp, workspace: WorkspaceRef): Promise<Row[]> {
  const { active, invited } = await listUsers(app.context(workspace))
  const at = { workspace: workspace.uid }
  return [
    ...active.map(
      (one): Row => ({
        email: one.email,
        name: one.name,
        accountType: one.accountType,
        status: 'active',
        uid: one.uid,
        ...at,
      }),
    ),
    ...invited.map(
      (one): Row => ({
        email: one.email,
        name: '',
        accountType: one.accountType,
        status: one.expired ? 'expired' : 'invited',
        uid: '',
        ...at,
      }),
    ),
  ]
}

function list(noun: Command, shell: Shell): void {
  addCommand<InWorkspace>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list people and open invitations, of all workspaces or of one',
      examples: ['yardmaster users list'],
    },
    async ({ options, load, print }) => {
      const rows = await withApp(load(), async (app) => {
        const chosen =
          options.workspace === undefined
            ? await listWorkspaces(app.context())
            : [await app.workspace(options.workspace)]
        return (await Promise.all(chosen.map((one) => rowsOf(app, one)))).flat()
      })
      print(
        rows,
        table(
          ['EMAIL', 'NAME', 'TYPE', 'STATUS', 'UID', 'WORKSPACE'],
          rows.map((row) => [row.email, row.name, row.accountType, row.status, row.uid, row.workspace]),
        ),
      )
      return undefined
    },
  ).option('--workspace <uid>', 'only the people of this workspace')
}

function reset(noun: Command, shell: Shell): void {
  addCommand(
    noun,
    shell,
    {
      name: 'reset',
      args: [EMAIL],
      summary: 'make a link that sets a new password',
      details: 'Prints the link, which works once, for an hour, and mails it. The old password works until it is used.',
      examples: ['yardmaster users reset ana@example.com'],
    },
    async ({ args, load, print }) => {
      const done = await withApp(load(), async (app) => {
        const person = await people.findByEmail(app.app.db, args[0]!.trim())
        if (person === null) throw notFound(`There is no user ${args[0]}. yardmaster users list shows them.`)
        if ((await people.memberships(app.app.db, person.id)).length === 0) {
          throw conflict(`${person.email} is in no workspace any more: invite them again instead.`)
        }
        return { email: person.email, link: await sendPasswordReset(app.context(), person) }
      })
      print(done, `This link sets a new password for ${done.email}. It works once, for an hour:\n\n  ${done.link}\n`)
      return undefined
    },
  )
}

/** People are named by their address here; the use cases want the uid. */
async function memberOf(app: CommandApp, workspace: WorkspaceRef, email: string): Promise<Member> {
  const { active } = await listUsers(app.context(workspace))
  const member = active.find((one) => one.email.toLowerCase() === email.trim().toLowerCase())
  if (member === undefined)
    throw notFound(`${email} is no active user of workspace ${workspace.uid} (${workspace.name}).`)
  return member
}

function disable(noun: Command, shell: Shell): void {
  addCommand<InWorkspace>(
    noun,
    shell,
    {
      name: 'disable',
      args: [EMAIL],
      summary: 'take a person out of a workspace',
      details: 'What they hold there ends at once. An invitation lets them back in.',
      examples: ['yardmaster users disable ben@example.com'],
    },
    async ({ args, options, load, print }) => {
      const done = await withApp(load(), async (app) => {
        const workspace = await app.workspace(options.workspace)
        const { uid, email } = await memberOf(app, workspace, args[0]!)
        await disableUser(app.context(workspace), { uid })
        return { uid, email, workspace: workspace.uid }
      })
      print(done, `${done.email} is out of workspace ${done.workspace}.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}

function setType(noun: Command, shell: Shell): void {
  addCommand<InWorkspace>(
    noun,
    shell,
    {
      name: 'set-type',
      args: [EMAIL, arg('type', `the account type: ${ACCOUNT_TYPES.join(', ')}`).argParser(accountType)],
      summary: "change a person's account type in a workspace",
      examples: ['yardmaster users set-type ben@example.com WORKSPACE_ADMIN'],
    },
    async ({ args, options, load, print }) => {
      const type = args[1] as AccountType
      const done = await withApp(load(), async (app) => {
        const workspace = await app.workspace(options.workspace)
        const { uid, email } = await memberOf(app, workspace, args[0]!)
        await updateUserAccountType(app.context(workspace), { uid, accountType: type })
        return { uid, email, accountType: type, workspace: workspace.uid }
      })
      print(done, `${done.email} is ${done.accountType} in workspace ${done.workspace}.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
