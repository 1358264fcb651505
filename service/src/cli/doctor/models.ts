// Whether the models of agents answer: each is asked for one tool call, as `yardmaster models test` does it.
import { openModel } from '../../adapters/models/index.ts'
import { outgoingFetch } from '../../adapters/outgoing-fetch.ts'
import { modelsOf } from '../../app/model-families.ts'
import { testModel } from '../../app/model-family-test.ts'
import type { Config } from '../../config/schema.ts'
import type { Db } from '../../store/database.ts'
import * as families from '../../store/model-families.ts'
import type { Vault } from '../../store/vault.ts'
import { check, type Finding, ok, warn } from './finding.ts'

const PATIENCE_MS = 20_000
const MOST = 20
const ADVICE = 'Set it again with yardmaster models set: provider, model, address or key.'

export async function modelChecks(config: Config, db: Db, openVault: () => Promise<Vault>): Promise<Finding[]> {
  const all = await families.listAll(db).catch(() => null)
  if (all === null) return []
  if (all.length === 0) {
    return [await check('models', '', () => ok('none is set up: agents follow fixed plans (yardmaster models set)'))]
  }
  const { allow, allowHttp } = config.outgoing
  const fetch = outgoingFetch({ allow, allowHttp, idleMs: PATIENCE_MS })
  const found = all.slice(0, MOST).map((one) =>
    check('models', ADVICE, async () => {
      const models = modelsOf({ db, vault: await openVault() }, openModel({ fetch }))
      const { ok: isGood, text } = await testModel(await models.open(one.workspaceId, one.name), PATIENCE_MS)
      const line = `${one.name} of ${one.workspace} (${one.provider} ${one.model}): ${text}`
      // The service runs without it, and a provider may be back in a minute.
      return isGood ? ok(line) : warn(line, ADVICE)
    }),
  )
  return await Promise.all(found)
}
