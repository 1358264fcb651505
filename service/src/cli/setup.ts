import type { Command } from 'commander'
import { isSetUp, setUp } from '../app/set-up.ts'
import { createSignInLink } from '../app/sign-in.ts'
import { conflict } from '../domain/errors.ts'
import { withApp } from './app.ts'
import { addCommand, type Shell } from './command.ts'
import { pairs } from './table.ts'

interface SetupOptions {
  readonly workspace: string
  readonly adminEmail: string
  readonly adminName: string
  readonly account: string
}

const LINK_HOURS = 24

export function registerSetup(program: Command, shell: Shell): void {
  addCommand<SetupOptions>(
    program,
    shell,
    {
      name: 'setup',
      summary: 'set up an empty deployment without the demo',
      details:
        'Makes the account, its first workspace and an administrator, and prints a link that signs the administrator ' +
        `in once, within ${LINK_HOURS} hours. Nothing of the demo is made when the service starts afterwards.`,
      examples: ['yardmaster setup --workspace Analytics --admin-email ana@example.com'],
    },
    async ({ options, load, print }) => {
      const done = await withApp(
        load(),
        async (app) => {
          if (await isSetUp(app.context())) {
            throw conflict(
              'This deployment is set up already. yardmaster workspaces create adds a workspace, yardmaster users ' +
                'invite a person, yardmaster users reset lets one in again.',
            )
          }
          return await app.together(async ({ context }) => {
            const { workspace, admin } = await setUp(context(), {
              accountName: options.account,
              workspaceName: options.workspace,
              adminEmail: options.adminEmail,
              adminName: options.adminName,
            })
            const signInLink = await createSignInLink(context(), admin, LINK_HOURS * 60)
            return { workspace: { uid: workspace.uid, name: workspace.name }, adminEmail: admin.email, signInLink }
          })
        },
        { mayBeNew: true },
      )
      print(
        done,
        `${pairs([
          ['Workspace', `${done.workspace.name}  ${done.workspace.uid}`],
          ['Administrator', done.adminEmail],
          [`Sign in once, within ${LINK_HOURS} hours`, done.signInLink],
        ])}\nThe link works while the service runs: yardmaster serve\n`,
      )
      return undefined
    },
  )
    .requiredOption('--workspace <name>', 'the name of the first workspace')
    .requiredOption('--admin-email <address>', 'the e-mail address of the administrator')
    .option('--admin-name <name>', 'the name of the administrator', 'Administrator')
    .option('--account <name>', 'the name of the account', 'Yardmaster')
}
