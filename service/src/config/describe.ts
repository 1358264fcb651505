// What is in force, for `yardmaster config`; what there is to set, for docs/configuration.md; and which texts of the
// configuration must not reach a log.
import { passedOver } from './environment.ts'
import { sourceText } from './faults.ts'
import type { LoadedConfig } from './load.ts'
import { parseMasterKeys } from './rules.ts'
import type { Config, SettingPath } from './schema.ts'
import { Secret } from './secret.ts'
import { type Setting, settings } from './settings.ts'

export interface ConfigRow {
  readonly path: SettingPath
  readonly env: string
  /** `[secret]` for a secret that is set, null for what is not set. */
  readonly value: string | number | boolean | readonly string[] | null
  readonly source: string
}

export function describeConfig({ config, sources }: LoadedConfig): ConfigRow[] {
  return settings.map(({ path, env, keys }) => {
    const value = valueAt(config, keys)
    return {
      path,
      env,
      value: value instanceof Secret ? value.toString() : ((value as ConfigRow['value'] | undefined) ?? null),
      source: sourceText(sources.get(path) ?? { kind: 'default' }),
    }
  })
}

/** Every text of the configuration that a log must not hold, passwords inside URLs and single keys among them. */
export function secretTexts(config: Config): string[] {
  const texts = settings.flatMap(({ path, keys, secret }) => {
    const value = secret && valueAt(config, keys)
    if (!(value instanceof Secret)) return []
    const text = value.reveal()
    if (path === 'masterKey') return [text, ...parseMasterKeys(text).map((key) => key.toString('base64'))]
    const password = /^[a-z]+:\/\/[^:@/]*:([^/]*)@/.exec(text)?.[1]
    return password ? [text, password, percentDecoded(password)] : [text]
  })
  return [...new Set(texts)]
}

function valueAt(config: Config, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null | undefined)?.[key], config)
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The Markdown of docs/configuration.md. `npm run generate` writes it, and a test compares. */
export function renderReference(): string {
  const secrets = settings.filter(({ secret }) => secret)
  return `<!-- Generated from service/src/config/schema.ts, do not edit: npm run generate -->

# Configuration

Everything has a default: \`npm start\` needs no configuration. Settings are read once, at the start; a change needs a restart.
\`yardmaster config\` shows what is in force and where each value came from.

| Setting | Variable | Default | What it is |
|---|---|---|---|
${settings.map(row).join('\n')}

## The file

\`yardmaster.yaml\` in the working folder, or the file named by \`--config\` or \`YARDMASTER_CONFIG\`. A dot in a setting's name is a level:

\`\`\`yaml
port: 8080
publicUrl: https://yardmaster.example.com
trustProxy: [10.0.0.5, 192.168.0.0/16]
database:
  urlFile: /etc/yardmaster/database-url
  poolSize: 20
\`\`\`

Relative paths, those in the file too, start at the working folder. \`~\` is not expanded. A key with nothing behind it counts as not given.

## What wins

1. an option of the command line (\`--data\`, \`--host\`, \`--port\`, \`--roles\`)
2. an environment variable, or the file that its \`_FILE\` form names
3. \`yardmaster.yaml\`
4. the default

An empty variable counts as not given. Lists are separated by commas in a variable (\`YARDMASTER_ROLES=api,scheduler\`), and can be lists in
the file. Switches are \`true\` or \`false\`, nothing else.

## Secrets

${secrets.map(({ path }) => `\`${path}\``).join(', ')} are secrets: they are printed as \`[secret]\` everywhere, and are not options of the command line, since other
users of a machine can see the arguments of a process. Each can be given as a file, which keeps it out of the environment too:

| Secret | Variable that names its file | Key that names its file |
|---|---|---|
${secrets.map(({ path, env }) => `| \`${path}\` | \`${env}_FILE\` | \`${path}File\` |`).join('\n')}

- The line breaks at the end of the file are cut off.
- Nobody but its owner may read the file (\`chmod 600\`). Files under \`/run/secrets\`, where Docker and Kubernetes mount them, are taken with any mode.
- \`yardmaster.yaml\` itself must have mode 600 when it holds a secret.
- Giving both the value and the file in the same place is a fault. A variable wins over the file \`yardmaster.yaml\`, whichever form the two have.

To change the master key, put the new one first and keep the old one behind it (\`new,old\`): what was encrypted under the old one stays
readable.

## Faults

When something is wrong nothing starts, and all faults are printed in one list, each with the setting, where its value came from, what is wrong
and what to do. The values of secrets are not in it.

Variables that begin with \`YARDMASTER_\` and keys of the file that are no settings are faults too, because a mistyped name would otherwise do
nothing. These variables are passed over:

${passedOver.map(({ names, why }) => `- ${names}: ${why}`).join('\n')}
`
}

function row(setting: Setting): string {
  const cells = [
    `\`${setting.path}\``,
    `\`${setting.env}\``,
    defaultText(setting),
    `${setting.description} Takes ${setting.form}.`,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function defaultText(setting: Setting): string {
  if (setting.defaultText) return setting.defaultText
  const value = Array.isArray(setting.default) ? setting.default.join(',') : (setting.default ?? '')
  return value === '' ? 'none' : `\`${value}\``
}
