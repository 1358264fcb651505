import type { Features } from '../../../app/workspaces.ts'
import type { WorkspaceRef } from '../../../domain/actor.ts'
import type { Features as WireFeatures, Workspace } from '../wire-types.ts'

export const presentWorkspace = ({ name, uid }: WorkspaceRef): Workspace => ({ name, uid })

export function presentFeatures({ account, workspaces }: Features): WireFeatures {
  return {
    ok: true,
    account: {
      scheduling: account.scheduling,
      userManagement: account.user_management,
      workspaceManagement: account.workspace_management,
      auditLogs: account.audit_logs,
    },
    workspaces: workspaces.map(({ uid, agents }) => ({ workspaceUid: uid, agents })),
  }
}
