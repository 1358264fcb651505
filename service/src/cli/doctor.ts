import type { Command } from 'commander'
import { addCommand, type Call, type Shell } from './command.ts'
import type { Finding } from './doctor/finding.ts'

export function registerDoctor(program: Command, shell: Shell): void {
  addCommand(
    program,
    shell,
    {
      name: 'doctor',
      summary: 'check the machine, the database and the service, and say what to do',
      details:
        'Changes nothing: a database that is not there is not made, and none is migrated. Exit code 1 when a check fails; ' +
        'warnings leave it at 0.',
      examples: ['yardmaster doctor', 'yardmaster doctor --json'],
    },
    async (call) => {
      const findings = await examine(call)
      const ok = findings.every(({ status }) => status !== 'fail')
      call.print({ ok, checks: findings }, findings.map(findingText).join('') + summary(findings))
      return ok ? 0 : 1
    },
  )
}

async function examine(call: Call): Promise<Finding[]> {
  const loaded = call.load()
  const { machineChecks } = await import('./doctor/machine.ts')
  const { databaseChecks } = await import('./doctor/database.ts')
  const { serviceChecks } = await import('./doctor/service.ts')
  return [
    ...(await machineChecks(loaded.config, call.cli.env)),
    ...(await databaseChecks(loaded)),
    ...(await serviceChecks(loaded.config)),
  ]
}

const WIDTH = 12

function findingText({ name, status, message, advice }: Finding): string {
  const line = `${status.padEnd(4)}  ${name.padEnd(WIDTH)}  ${message}\n`
  return advice === undefined ? line : `${line}${' '.repeat(6 + WIDTH)}  → ${advice}\n`
}

function summary(findings: readonly Finding[]): string {
  const count = (status: Finding['status']): number => findings.filter((one) => one.status === status).length
  return `\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`
}
