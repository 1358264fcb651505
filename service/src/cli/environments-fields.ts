// What `environments create` and `environments set` share: the options that say what an environment is.
import { type Command, Option } from 'commander'
import { type EnvironmentFields, parseRepositoryUrl } from '../domain/environment.ts'
import { invalidInput } from '../domain/errors.ts'
import { WORKSPACE, wholeNumber } from './options.ts'

export interface FieldOptions {
  readonly type?: 'scheduler' | 'agent'
  readonly repository?: string
  readonly defaultBranch?: string
  readonly deploymentBranch?: string
  readonly installStep?: string
  readonly pythonPackage?: readonly string[]
  readonly exclude?: readonly string[]
  readonly workerLabel?: readonly string[]
  readonly stopSeconds?: number
  readonly default?: boolean
}

export function addFieldOptions(command: Command): Command {
  return command
    .option(...WORKSPACE)
    .addOption(new Option('--type <type>', 'what it is for (default: scheduler)').choices(['scheduler', 'agent']))
    .option('--repository <url>', 'the git repository, without credentials: an https or ssh address, or a local path')
    .option('--default-branch <branch>', 'the branch that runs take (default: main)')
    .option('--deployment-branch <branch>', "the branch that schedules' files are read from; '' for the default branch")
    .option('--install-step <command>', "how dependencies are installed; '' for the built-in way")
    .option('--python-package <package...>', "Python packages with versions, such as dbt-core==1.10.0; '' for none")
    .option('--exclude <pattern...>', "files that are not kept as results; '' for the built-in list")
    .option('--worker-label <label...>', "runs go to workers that have all of these; '' for any worker")
    .option('--stop-seconds <seconds>', 'how long a canceled command may take to end by itself', wholeNumber(5, 3600))
    .option('--default', 'make it the default environment of its type')
}

/** What the options say of an environment. An empty text takes a value away, as far as it can be missing. */
export function fieldsOf(options: FieldOptions): EnvironmentFields {
  const { type, repository, defaultBranch, deploymentBranch, installStep, pythonPackage, exclude, workerLabel } =
    options
  if (repository !== undefined && Object.keys(parseRepositoryUrl(repository).credentials).length > 0) {
    throw invalidInput(
      'Leave the credentials out of --repository: other users of this machine can see them. Give them afterwards, with ' +
        'yardmaster environments set SLUG --credential token --from-file PATH (username and ssh_key likewise).',
    )
  }
  return {
    ...(type === undefined ? {} : { type }),
    ...(repository === undefined ? {} : { repositoryUrl: repository }),
    ...(defaultBranch === undefined ? {} : { defaultBranch }),
    ...(deploymentBranch === undefined ? {} : { deploymentBranch: deploymentBranch || null }),
    ...(installStep === undefined ? {} : { installStep: installStep || null }),
    ...(pythonPackage === undefined ? {} : { pythonPackages: pythonPackage.filter((one) => one !== '') }),
    ...(exclude === undefined ? {} : { excludedFiles: exclude.every((one) => one === '') ? null : exclude }),
    ...(workerLabel === undefined ? {} : { workerLabels: workerLabel.filter((one) => one !== '') }),
    ...(options.stopSeconds === undefined ? {} : { stopSeconds: options.stopSeconds }),
    ...(options.default === undefined ? {} : { isDefault: options.default }),
  }
}
