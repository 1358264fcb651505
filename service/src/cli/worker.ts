import type { Command } from 'commander'
import { addCommand, type Shell } from './command.ts'

interface WorkerOptions {
  readonly slots?: string
  readonly labels?: string
}

export function registerWorker(program: Command, shell: Shell): void {
  addCommand<WorkerOptions>(
    program,
    shell,
    {
      name: 'worker',
      summary: 'execute runs on this host until a signal stops it',
      details:
        'Needs the DATABASE_URL, the master key and the blob store of the servers. The first SIGINT or SIGTERM takes ' +
        'nothing new and waits for the runs that are going; a second one ends them now.',
      examples: ['yardmaster worker --data /var/lib/yardmaster-worker --slots 8 --labels gpu,eu-west'],
    },
    async ({ cli, options: { slots, labels }, load }) => {
      const { runWorker } = await import('./run-worker.ts')
      return await runWorker(load({ 'worker.slots': slots, 'worker.labels': labels }), cli.env)
    },
  )
    .option('--slots <number>', 'how many runs it executes at once (default: 4)')
    .option('--labels <list>', 'what it is fit for: runs go to workers that have all labels of their environment')
}
