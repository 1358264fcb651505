// One request for every mutation that is served, each of which changes something when it is made for the first time,
// in this order.
import type { WorkspaceRef } from '../../service/src/domain/actor.ts'
import { type Ask, bearer, type RequestHeaders, sessionOf, type TestApi } from './api.ts'

export interface GoodMutation {
  readonly name: string
  readonly ask: Ask & { readonly query: string; readonly by: RequestHeaders }
}

export async function goodMutations(api: TestApi, a: WorkspaceRef): Promise<GoodMutation[]> {
  const { t } = api
  const by = bearer((await t.key()).key)
  await t.member(a, 'ADMIN')
  const owner = await t.member(a, 'ADMIN', { email: 'owner@example.com' })
  const member = await t.member(a, 'ANALYST')
  const spare = await t.key({ kind: 'workspace', workspace: a })
  const own = await t.key({ kind: 'personal', person: owner })
  const signedIn = sessionOf(await api.session(owner))
  await api.session(owner)
  const sessions = await api.ask('{ listSessions { sessions { id current } } }', { by: signedIn })
  const other = sessions.json.data.listSessions.sessions.find((one: { current: boolean }) => !one.current).id
  const made: GoodMutation[] = []
  const add = (name: string, args: string, fields = 'ok', who: RequestHeaders = by) => {
    const query = `mutation { ${name}${args === '' ? '' : `(${args})`} { ${fields} } }`
    made.push({ name, ask: { query, by: who, workspace: a.uid } })
  }
  add('inviteUser', 'email: "new@example.com", accountType: ANALYST')
  add('updateUserAccountType', `uid: "${member.uid}", accountType: DEVELOPER`)
  add('disableUser', `uid: "${member.uid}"`)
  add('createWorkspace', 'name: "Further"', 'workspace { uid }')
  add('renameWorkspace', 'name: "Renamed"')
  add('setAccountFeature', 'feature: "scheduling", enabled: true')
  add('setWorkspaceFeature', 'feature: "agents", enabled: true')
  const repository = 'repositoryUrl: "https://user:token-of-the-host@git.example.com/x.git"'
  add('createEnvironment', `environment: { displayName: "Production", ${repository} }`, 'slug')
  add('updateEnvironment', `slug: "production", environment: { defaultBranch: "trunk", ${repository} }`, 'slug')
  add('setVariable', 'environment: "production", name: "V", value: "1"')
  add('deleteVariable', 'environment: "production", name: "V"')
  add('setSecret', 'environment: "production", kind: VARIABLE, name: "S", value: "long enough"')
  add('deleteSecret', 'environment: "production", kind: VARIABLE, name: "S"')
  add('archiveEnvironment', 'slug: "production"')
  add('createApiKey', 'key: { name: "k", kind: ACCOUNT }', 'id key')
  add('revokeApiKey', `id: ${spare.id}`)
  add('createPersonalKey', 'key: { name: "mine" }', 'id key', signedIn)
  add('revokePersonalKey', `id: ${own.id}`, 'ok', signedIn)
  add('endSession', `id: ${other}`, 'ok', signedIn)
  add('archiveWorkspace', '')
  return made
}
