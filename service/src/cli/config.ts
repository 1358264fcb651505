import type { Command } from 'commander'
import { type ConfigRow, describeConfig } from '../config/describe.ts'
import { addCommand, type Shell } from './command.ts'
import { table } from './table.ts'

export function registerConfig(program: Command, shell: Shell): void {
  addCommand(
    program,
    shell,
    {
      name: 'config',
      summary: 'show the configuration that is in force and where each value came from',
      details:
        'Secrets are shown as [secret]. When something is wrong, all faults are listed with the way to mend each.',
      examples: ['yardmaster config', 'yardmaster config --json'],
    },
    async ({ load, print }) => {
      const rows = describeConfig(load())
      print(
        rows,
        table(
          ['SETTING', 'VALUE', 'FROM'],
          rows.map((row) => [row.path, valueText(row.value), row.source]),
        ),
      )
      return undefined
    },
  )
}

const valueText = (value: ConfigRow['value']): string | null =>
  value === null ? null : Array.isArray(value) ? value.join(',') : String(value)
