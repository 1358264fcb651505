import type { WorkspaceRef } from '../../service/src/domain/actor.ts'
import type { AccountFeature } from '../../service/src/domain/feature.ts'
import * as accounts from '../../service/src/store/accounts.ts'
import * as workspaces from '../../service/src/store/workspaces.ts'
import type { TestApp } from '../../service/test/support/app.ts'
import type { Switch } from './expected.ts'

/** Of the account, or for agents of the workspace. */
export async function setSwitch(t: TestApp, workspace: WorkspaceRef, name: Switch, on: boolean): Promise<void> {
  for (const one of name.split(' and ')) {
    if (one === 'agents') await workspaces.setAgents(t.app.db, workspace.id, on)
    else await accounts.setFeature(t.app.db, one as AccountFeature, on)
  }
}
