// A small git repository for the first start, so that there is something real to run without an account anywhere.
import { execFile } from 'node:child_process'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The second one is in the squad of the first. Both work with no model set up. */
export const DEMO_AGENTS: Readonly<Record<string, string>> = {
  '.dinoai/agents/explainer.yml': [
    '# Explains the last run that failed. It reads, and changes nothing.',
    'name: explainer',
    'version: "1"',
    'role: Engineer who explains failed runs',
    'goal: Say in a few sentences which command of the last failed run failed, why, and what would mend it.',
    'backstory: |',
    '  Begin with the schedules and their last runs, then read the output of the one that failed and the files that its',
    '  command names. Ask the librarian what the repository has to say about them. Quote the line of the output that',
    '  shows the cause. What you could not find out, say so.',
    'tools:',
    '  mode: allowlist',
    '  list:',
    '    - list_bolt_schedules',
    '    - get_run_status',
    '    - get_bolt_run_logs',
    '    - list_directory',
    '    - read_file',
    '    - search_files_and_directories',
    '    - ripgrep_search',
    '    - git_log',
    '    - invoke_agent',
    'agents_squad:',
    '  - librarian',
    '',
  ].join('\n'),
  '.dinoai/agents/librarian.yml': [
    '# Knows where things are in the repository. It only reads.',
    'name: librarian',
    'version: "1"',
    'role: Librarian of this repository',
    'goal: Answer where something stands in the repository, with the lines that show it.',
    'backstory: |',
    '  Search before you read, and read before you answer. Name each file with its path.',
    'tools:',
    '  mode: allowlist',
    '  list:',
    '    - list_directory',
    '    - read_file',
    '    - search_files_and_directories',
    '    - ripgrep_search',
    '    - git_log',
    '    - notify_parent_session',
    '',
  ].join('\n'),
}

const FILES: Readonly<Record<string, string>> = {
  ...DEMO_AGENTS,
  'README.md':
    '# Demo\n\nThe repository of the demo workspace. Change it, commit, and the next run takes the change.\n\n' +
    '- `scripts/hello.sh` says hello\n- `data/orders.csv` is what `scripts/count.sh` counts\n' +
    '- `scripts/report.sh` writes `reports/orders.md`, which every run keeps\n' +
    '- `scripts/customers.sh` fails: `data/customers.csv` is not there. Ask the agent `explainer` why, then add the file\n' +
    '- `.dinoai/agents` holds the agents\n',
  'scripts/hello.sh': '#!/bin/sh\necho "Hello from the demo repository, $(date -u +%H:%M:%S) UTC"\n',
  'scripts/count.sh': '#!/bin/sh\nset -e\necho "orders: $(($(wc -l < data/orders.csv) - 1))"\n',
  'scripts/report.sh': [
    '#!/bin/sh',
    'set -e',
    'mkdir -p reports',
    '{',
    '  echo "# Orders"',
    '  echo',
    '  echo "| customer | amount |"',
    '  echo "|---|---|"',
    `  awk -F, 'NR > 1 { sum[$2] += $3 } END { for (one in sum) print "| " one " | " sum[one] " |" }' data/orders.csv | sort`,
    '} > reports/orders.md',
    'echo "wrote reports/orders.md"',
    '',
  ].join('\n'),
  'scripts/customers.sh': [
    '#!/bin/sh',
    '# Counts the customers, one on each line of the file.',
    'file=data/customers.csv',
    'if [ ! -r "$file" ]; then',
    '  echo "scripts/customers.sh: cannot read $file" >&2',
    '  exit 1',
    'fi',
    'echo "customers: $(($(wc -l < "$file") - 1))"',
    '',
  ].join('\n'),
  'data/orders.csv': 'id,customer,amount\n1,ana,20\n2,ben,35\n3,ana,12\n',
}

// The repository belongs to whoever runs the service; nothing of their own git settings may change what is made.
const ENVIRONMENT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Yardmaster',
  GIT_AUTHOR_EMAIL: 'yardmaster@localhost',
  GIT_COMMITTER_NAME: 'Yardmaster',
  GIT_COMMITTER_EMAIL: 'yardmaster@localhost',
}

/** `path` is where git is looked for. Makes it whole or not at all: a start that was killed in the middle leaves only a draft behind. */
export async function makeDemoRepository(folder: string, path: string): Promise<void> {
  if (await exists(folder)) return
  const draft = `${folder}.draft`
  await rm(draft, { recursive: true, force: true })
  for (const [name, content] of Object.entries(FILES)) {
    await mkdir(dirname(join(draft, name)), { recursive: true })
    await writeFile(join(draft, name), content, { mode: name.endsWith('.sh') ? 0o755 : 0o644 })
  }
  await git(path, draft, 'init', '--quiet', '--initial-branch=main')
  await git(path, draft, 'add', '--all')
  await git(path, draft, 'commit', '--quiet', '--message', 'Begin the demo')
  await rename(draft, folder)
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

async function git(path: string, cwd: string, ...argv: string[]): Promise<void> {
  try {
    await run('git', argv, { cwd, env: { PATH: path, HOME: cwd, ...ENVIRONMENT }, timeout: 60_000 })
  } catch (error) {
    throw new Error('git could not make the demo repository: is git installed and on the PATH?', { cause: error })
  }
}
