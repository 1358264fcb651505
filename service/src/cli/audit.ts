import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { fileWitness } from '../adapters/audit-witness-file.ts'
import { masterKeyPath, readMasterKeys } from '../adapters/master-key-file.ts'
import { systemClock } from '../adapters/runtime.ts'
import { exportAudit, verifyAudit } from '../app/audit.ts'
import { parseMasterKeys } from '../config/rules.ts'
import type { Config } from '../config/schema.ts'
import { Vault } from '../store/vault.ts'
import { withApp } from './app.ts'
import { EXPORT_FORM, exportLine, verifyExport } from './audit-file.ts'
import { addCommand, addNoun, type Call, type Shell } from './command.ts'
import { refusal } from './errors.ts'
import { pairs } from './table.ts'

interface Result {
  readonly ok: boolean
  readonly rows: number
  readonly head: { readonly id: number; readonly mac: string }
  readonly witnesses: number
  readonly seconds: number
  readonly faults: readonly string[]
}

type Verified = Omit<Result, 'ok' | 'seconds'>

export function registerAudit(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'audit', 'the audit log')
  verify(noun, shell)
  exporting(noun, shell)
}

function verify(noun: Command, shell: Shell): void {
  addCommand<{ file?: string }>(
    noun,
    shell,
    {
      name: 'verify',
      summary: 'check that the audit log is whole and unchanged',
      details:
        'Reads the whole chain and compares it with the heads that were written outside the database, once a minute. ' +
        'Exit code 1, and the faults, when something does not fit. With --file an export is checked instead, without ' +
        'the database; the master key is needed in both cases.',
      examples: ['yardmaster audit verify'],
    },
    async ({ options, cli, load, print }) => {
      const began = performance.now()
      const loaded = load()
      const { config } = loaded
      const found: Verified =
        options.file === undefined
          ? await withApp(loaded, async ({ app, witness }) => {
              const { head, ...rest } = await verifyAudit(app.db, app.vault, await witness.read())
              return { ...rest, head: { id: head.id, mac: head.mac.toString('hex') } }
            })
          : await verifyExport(resolve(cli.cwd, options.file), await vaultOf(config), await witnessesOf(config))
      const seconds = Number(((performance.now() - began) / 1000).toFixed(2))
      const result: Result = { ok: found.faults.length === 0, ...found, seconds }
      print(result, resultText(result))
      return result.ok ? 0 : 1
    },
  ).option('--file <export>', 'check a file that yardmaster audit export wrote')
}

function resultText({ ok, rows, head, witnesses, seconds, faults }: Result): string {
  const facts = pairs([
    ['Rows', rows],
    ['Head', `${head.id}  ${head.mac}`],
    ['Heads outside', witnesses],
    ['Time', `${seconds} s`],
  ])
  if (ok) return `The audit log is whole and unchanged.\n\n${facts}`
  return `The audit log does not fit:\n\n${faults.map((fault) => `  - ${fault}\n`).join('')}\n${facts}`
}

/** The master keys without the database, for an export on another machine. */
async function vaultOf(config: Config): Promise<Vault> {
  const given = config.masterKey?.reveal()
  const path = masterKeyPath(config.data)
  const keys = given === undefined ? await readMasterKeys(path) : parseMasterKeys(given)
  if (keys === null) {
    throw refusal(
      `The master key is needed to check an export: give it with YARDMASTER_MASTER_KEY_FILE, or put it at ${path}.`,
    )
  }
  return new Vault(keys)
}

const witnessesOf = (config: Config) => fileWitness(`${config.data}/audit-heads.jsonl`, systemClock).read()

function exporting(noun: Command, shell: Shell): void {
  addCommand<{ output?: string }>(
    noun,
    shell,
    {
      name: 'export',
      summary: 'write the audit log as JSON lines',
      details: EXPORT_FORM,
      examples: ['yardmaster audit export --output audit.jsonl', 'yardmaster audit verify --file audit.jsonl'],
    },
    async (call) => {
      const { options, load, print } = call
      const rows = await withApp(load(), async ({ app }) => {
        const lines = exportAudit(app.db)
        if (options.output === undefined) return await writeOut(call, lines)
        return await writeFile(resolve(call.cli.cwd, options.output), lines)
      })
      if (options.output !== undefined) {
        print({ rows, file: options.output }, `${rows} rows are in ${options.output}, which only you can read.\n`)
      }
      return undefined
    },
  ).option('--output <file>', 'the file to write (default: standard output)')
}

type Rows = ReturnType<typeof exportAudit>

async function writeOut({ io }: Call, rows: Rows): Promise<number> {
  let count = 0
  for await (const row of rows) {
    if (!io.isRead) break
    io.out(exportLine(row))
    count++
  }
  return count
}

/** Whole or not at all: the file has its name when everything is in it. */
async function writeFile(path: string, rows: Rows): Promise<number> {
  const draft = `${path}.${process.pid}`
  const file = await open(draft, 'wx', 0o600)
  let count = 0
  try {
    let lines: string[] = []
    for await (const row of rows) {
      lines.push(exportLine(row))
      count++
      if (lines.length < 1000) continue
      await file.write(lines.join(''))
      lines = []
    }
    await file.write(lines.join(''))
    await file.sync()
    await file.close()
    await rename(draft, path)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(draft, { force: true })
    throw error
  }
  return count
}
