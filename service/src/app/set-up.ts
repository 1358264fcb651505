// The account comes into being once: by `yardmaster setup`, or by the first start on an empty database.
import type { WorkspaceRef } from '../domain/actor.ts'
import { conflict } from '../domain/errors.ts'
import { newUid } from '../domain/ids.ts'
import { parseEmail, parseName } from '../domain/text.ts'
import * as accounts from '../store/accounts.ts'
import type { Person } from '../store/people.ts'
import * as people from '../store/people.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Context } from './context.ts'
import { mutate } from './mutate.ts'

export interface SetUpInput {
  readonly accountName: string
  readonly workspaceName: string
  readonly adminEmail: string
  readonly adminName: string
}

export interface SetUp {
  readonly workspace: WorkspaceRef
  readonly admin: Person
}

export const isSetUp = async (ctx: Context): Promise<boolean> => (await accounts.find(ctx.db)) !== null

/** All in one transaction: of two that set up at once, one does and the other is told. */
export async function setUp(ctx: Context, input: SetUpInput): Promise<SetUp> {
  const accountName = parseName(input.accountName, 'account name')
  const workspaceName = parseName(input.workspaceName, 'workspace name')
  const email = parseEmail(input.adminEmail, 'administrator e-mail')
  const name = parseName(input.adminName, 'administrator name')
  return await mutate(ctx, async (unit) => {
    if (!(await accounts.insert(unit.db, accountName))) throw conflict('This deployment is set up already.')
    const workspace = await workspaces.insert(unit.db, { uid: newUid(), name: workspaceName })
    const admin = await people.insert(unit.db, { uid: newUid(), email, name, passwordHash: null })
    await people.join(unit.db, workspace.id, admin.id, 'ADMIN')
    unit.record('account_created', { name: accountName }, 'account')
    unit.record('workspace_created', { uid: workspace.uid, name: workspaceName }, workspace)
    unit.record('user_created', { uid: admin.uid, email, account_type: 'ADMIN' }, workspace)
    return { workspace, admin }
  })
}
