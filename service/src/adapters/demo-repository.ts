// A small git repository for the first start, so that there is something real to run without an account anywhere.
import { execFile } from 'node:child_process'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const FILES: Readonly<Record<string, string>> = {
  'README.md':
    '# Demo\n\nThe repository of the demo workspace. Change it, commit, and the next run takes the change.\n\n' +
    '- `scripts/hello.sh` says hello\n- `data/orders.csv` is what `scripts/count.sh` counts\n' +
    '- `scripts/report.sh` writes `reports/orders.md`, which every run keeps\n',
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
