// `environments set`. Values of secrets come from files or standard input, never from arguments: every user of a
// machine can read the arguments of a process.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Context } from '../app/context.ts'
import {
  deleteSecret,
  deleteVariable,
  listEnvironments,
  setSecret,
  setVariable,
  updateEnvironment,
} from '../app/environments.ts'
import { CREDENTIAL_NAMES, type EnvironmentFields, type SecretKind } from '../domain/environment.ts'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import { withApp } from './app.ts'
import { addCommand, arg, type Call, type Shell } from './command.ts'
import { addFieldOptions, type FieldOptions, fieldsOf } from './environments-fields.ts'

interface SecretValue {
  readonly kind: SecretKind
  readonly name: string
  readonly value: string
}

/** What one command changes; everything is read before anything is opened. */
interface Changes {
  readonly fields: EnvironmentFields
  readonly variables: readonly Pair[]
  readonly unsetVariables: readonly string[]
  readonly secrets: readonly SecretValue[]
  readonly unsetSecrets: readonly string[]
}

type Pair = readonly [name: string, value: string]

interface SetOptions extends FieldOptions {
  readonly workspace?: string
  readonly name?: string
  readonly variable?: readonly Pair[]
  readonly unsetVariable?: readonly string[]
  readonly secretFile?: readonly Pair[]
  readonly unsetSecret?: readonly string[]
  readonly fromFile?: readonly string[]
}

type Wanted = Pick<SecretValue, 'kind' | 'name'>

export function registerSet(noun: Command, shell: Shell): void {
  // In the order in which they were written, over both options, because --from-file goes by it.
  const wanted: Wanted[] = []
  const command = addCommand<SetOptions>(
    noun,
    shell,
    {
      name: 'set',
      args: [arg('slug', 'the environment')],
      summary: 'change an environment, its variables, secrets and credentials',
      details:
        'Values of secrets are never arguments, since other users can see those. --secret and --credential take their ' +
        'value from standard input, or each from a --from-file of its own, in the same order. Line breaks at the end of ' +
        'a value are cut off, except in an ssh_key and in the files of --secret-file. All of it is done, or nothing.',
      examples: [
        'yardmaster environments set production --variable DBT_TARGET=prod --secret-file profiles.yml=./profiles.yml',
        'yardmaster environments set production --secret WAREHOUSE_PASSWORD < password.txt',
        'yardmaster environments set production --credential username --from-file user.txt --credential token --from-file token.txt',
      ],
    },
    async (call) => {
      const { args, options, load, print } = call
      const slug = args[0]!
      const changes = await readChanges(call, fieldsOf(options), wanted)
      const workspace = await withApp(load(), async (app) => {
        const chosen = await app.workspace(options.workspace)
        await app.together(({ context }) => apply(context(chosen), slug, changes))
        return chosen.uid
      })
      const changed = summary(changes)
      print({ slug, workspace, changed }, `Environment ${slug}: ${changed.join(', ')}.\n`)
      return undefined
    },
  )
  addFieldOptions(command)
  command
    .option('--name <name>', 'the name that people see')
    .option('--variable <name=value...>', 'set a variable', pair)
    .option('--unset-variable <name...>', 'remove a variable')
    .option('--secret <name>', 'set a secret variable; its value comes from standard input or --from-file')
    .addOption(
      new Option('--credential <what>', 'set a credential of the repository, its value likewise').choices(
        CREDENTIAL_NAMES,
      ),
    )
    .option('--from-file <path...>', 'the file with the value, one for each --secret and --credential, in order')
    .option('--secret-file <name=path...>', 'set a secret file, such as profiles.yml', pair)
    .option('--unset-secret <name...>', 'remove a secret, by its name or as kind:name (variable, file, credential)')
  command.on('option:secret', (name: string) => wanted.push({ kind: 'variable', name }))
  command.on('option:credential', (name: string) => wanted.push({ kind: 'credential', name }))
}

function pair(text: string, before: readonly Pair[] | undefined): Pair[] {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write NAME=VALUE.')
  return [...(before ?? []), [text.slice(0, at), text.slice(at + 1)]]
}

async function readChanges(
  call: Call<SetOptions>,
  fields: EnvironmentFields,
  wanted: readonly Wanted[],
): Promise<Changes> {
  const { options } = call
  const files = options.fromFile ?? []
  // Said before anything else, and without the name: it has the value in it.
  if (wanted.some(({ name }) => name.includes('='))) {
    throw invalidInput('--secret takes the name alone: its value comes from standard input or --from-file.')
  }
  if (wanted.length !== files.length && !(wanted.length === 1 && files.length === 0)) {
    throw invalidInput(
      `There are ${wanted.length} of --secret and --credential, and ${files.length} of --from-file: give each its ` +
        'file, or set one at a time from standard input.',
    )
  }
  const secrets: SecretValue[] = []
  for (const [index, { kind, name }] of wanted.entries()) {
    const file = files[index]
    const text = file === undefined ? await call.io.read(`Value of ${name}`) : await readText(call, file)
    secrets.push({ kind, name, value: name === 'ssh_key' ? text : text.replace(/[\r\n]+$/, '') })
  }
  for (const [name, path] of options.secretFile ?? []) {
    secrets.push({ kind: 'file', name, value: await readText(call, path) })
  }
  const changes: Changes = {
    fields: options.name === undefined ? fields : { ...fields, displayName: options.name },
    variables: options.variable ?? [],
    unsetVariables: options.unsetVariable ?? [],
    secrets,
    unsetSecrets: options.unsetSecret ?? [],
  }
  if (summary(changes).length === 0) throw invalidInput('There is nothing to change: name at least one option.')
  return changes
}

async function readText(call: Call, path: string): Promise<string> {
  try {
    return await readFile(resolve(call.cli.cwd, path), 'utf8')
  } catch (error) {
    // Only the kind of the fault: a mistyped option may have put a secret where the path belongs.
    const { code } = error as NodeJS.ErrnoException
    throw invalidInput(
      `The file of a secret cannot be read (${code}). Check the paths of --from-file and --secret-file.`,
    )
  }
}

async function apply(ctx: Context, slug: string, changes: Changes): Promise<void> {
  const { fields, variables, unsetVariables, secrets, unsetSecrets } = changes
  const environment = slug
  if (Object.keys(fields).length > 0) await updateEnvironment(ctx, slug, fields)
  for (const name of unsetVariables) await deleteVariable(ctx, { environment, name })
  for (const [name, value] of variables) await setVariable(ctx, { environment, name, value })
  for (const named of unsetSecrets) await deleteSecret(ctx, { environment, ...(await findSecret(ctx, slug, named)) })
  for (const secret of secrets) await setSecret(ctx, { environment, ...secret })
}

async function findSecret(ctx: Context, slug: string, named: string): Promise<Wanted> {
  const { environments } = await listEnvironments(ctx, null)
  const there = environments.find((one) => one.slug === slug)?.secrets ?? []
  const fitting = there.filter(({ kind, name }) => name === named || `${kind}:${name}` === named)
  if (fitting.length > 1) {
    throw conflict(
      `There are several secrets "${named}": say ${fitting.map((one) => `${one.kind}:${named}`).join(' or ')}.`,
    )
  }
  if (fitting[0] === undefined) throw notFound(`No secret "${named}" in environment "${slug}".`)
  return { kind: fitting[0].kind, name: fitting[0].name }
}

/** What was changed, by name; values stay out. */
function summary({ fields, variables, unsetVariables, secrets, unsetSecrets }: Changes): string[] {
  return [
    ...Object.keys(fields),
    ...variables.map(([name]) => `variable ${name}`),
    ...unsetVariables.map((name) => `without variable ${name}`),
    ...secrets.map(({ kind, name }) => `${kind === 'variable' ? 'secret' : `secret ${kind}`} ${name}`),
    ...unsetSecrets.map((name) => `without secret ${name}`),
  ]
}
