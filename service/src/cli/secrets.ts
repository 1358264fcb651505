import type { Command } from 'commander'
import { addMasterKey, masterKeyPath } from '../adapters/master-key-file.ts'
import { rotateMasterKey } from '../app/environments.ts'
import { sourceText } from '../config/faults.ts'
import type { LoadedConfig } from '../config/load.ts'
import { runningService, withApp } from './app.ts'
import { addCommand, addNoun, type Shell } from './command.ts'
import { refusal } from './errors.ts'

export function registerSecrets(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'secrets', 'the master key and what it seals')
  addCommand<{ newKey?: boolean }>(
    noun,
    shell,
    {
      name: 'rotate',
      summary: 'change the master key, in two steps',
      details:
        'First --new-key puts a new master key before the old ones; restart every process of the service then. Without ' +
        'it, every stored secret is wrapped under the current key, beside a running service. The old keys stay in the ' +
        'file: API keys and audit records that were made under them need them.',
      examples: ['yardmaster secrets rotate --new-key', 'yardmaster secrets rotate'],
    },
    async ({ options, load, print }) => {
      const loaded = load()
      if (options.newKey === true) {
        const done = await addKey(loaded)
        print(done, `${done.file} has a new master key (${done.kid}). ${restartText(done.restart)}\n`)
        return undefined
      }
      const done = await withApp(loaded, async (app) => ({
        kid: app.app.vault.kid,
        secrets: await rotateMasterKey(app.context()),
      }))
      print(done, `${done.secrets} secrets were wrapped anew; all are under the master key ${done.kid} now.\n`)
      return undefined
    },
  ).option('--new-key', 'add a new current master key to the file in the data folder')
}

const restartText = (url: string | null): string =>
  `${url === null ? '' : `Restart the service at ${url} now: until then it cannot use keys that commands make. `}` +
  'Then run: yardmaster secrets rotate'

async function addKey(loaded: LoadedConfig): Promise<{ kid: string; file: string; restart: string | null }> {
  const { config, sources } = loaded
  if (config.masterKey !== undefined) {
    const from = sourceText(sources.get('masterKey') ?? { kind: 'default' })
    throw refusal(
      `The master key is given by ${from}, not by a file of the data folder. Put a new one (openssl rand -base64 32) ` +
        'before the old one there, separated by a comma, restart every process of the service, then run: yardmaster secrets rotate',
    )
  }
  const file = masterKeyPath(config.data)
  // Opened before, to be sure that this file is the one the database was set up with, and after, which makes the new
  // key known to the database.
  await withApp(loaded, async () => {})
  await addMasterKey(file)
  const kid = await withApp(loaded, async (app) => app.app.vault.kid)
  return { kid, file, restart: (await runningService(config))?.url ?? null }
}
