// The service as `yardmaster serve` runs it, configured by the environment of this process.
import { runServe } from '../../service/src/cli/serve.ts'
import { loadConfig } from '../../service/src/config/load.ts'

process.exit(await runServe(loadConfig({ env: process.env, cwd: process.cwd() }), process.env))
