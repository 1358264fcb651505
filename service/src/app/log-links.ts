// Whole logs for download.
import { notFound } from '../domain/errors.ts'
import type { LogStream } from '../store/command-logs.ts'
import * as logs from '../store/command-logs.ts'
import * as workspaces from '../store/workspaces.ts'
import { streamLog } from './command-logs.ts'
import type { App, Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { openLink, signLink } from './links.ts'

export async function logUrl(ctx: Context, commandId: number, stream: LogStream): Promise<string> {
  const workspace = workspaceOf(ctx)
  if ((await logs.find(ctx.db, workspace.id, commandId)) === null) throw noCommand(commandId)
  return signLink(ctx, { kind: 'log', commandId, stream }, workspace.uid)
}

const noCommand = (id: number) => notFound(`No command ${id} in this workspace.`)

export interface OpenedLog {
  readonly name: string
  readonly content: AsyncIterable<Buffer>
}

/** @param address path and query of the request, as they came */
export async function openSignedLog(app: App, address: string): Promise<OpenedLog> {
  const { to, workspaceUid } = openLink(app, address)
  if (to.kind !== 'log') throw noCommand(0)
  const workspace = await workspaces.findByUid(app.db, workspaceUid)
  const command = workspace && { workspaceId: workspace.id, id: to.commandId }
  if (command === null || (await logs.find(app.db, command.workspaceId, command.id)) === null) {
    throw noCommand(to.commandId)
  }
  return { name: `command-${to.commandId}-${to.stream}.txt`, content: streamLog(app.db, command, to.stream) }
}
