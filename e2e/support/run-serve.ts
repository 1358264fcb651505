// Stands in for service/src/main.ts until that exists.
import { runServe } from '../../service/src/cli/serve.ts'
import { loadConfig } from '../../service/src/config/load.ts'

process.exit(await runServe(loadConfig({ env: process.env, cwd: process.cwd(), overrides: {} })))
