import type { EnvironmentList, ListedEnvironment } from '../../../app/environments.ts'
import type { EnvironmentType, SecretKind } from '../../../domain/environment.ts'
import type {
  Environment,
  Environments,
  SecretName,
  EnvironmentType as WireEnvironmentType,
  SecretKind as WireSecretKind,
} from '../wire-types.ts'

const TYPES = { scheduler: 'SCHEDULER', agent: 'AGENT' } as const satisfies Record<EnvironmentType, WireEnvironmentType>
const KINDS = { variable: 'VARIABLE', file: 'FILE', credential: 'CREDENTIAL' } as const satisfies Record<
  SecretKind,
  WireSecretKind
>

export const parseType = (type: WireEnvironmentType): EnvironmentType => (type === 'AGENT' ? 'agent' : 'scheduler')

export const parseKind = (kind: WireSecretKind): SecretKind =>
  kind === 'VARIABLE' ? 'variable' : kind === 'FILE' ? 'file' : 'credential'

const presentSecret = (one: EnvironmentList['secrets'][number]): SecretName => ({
  kind: KINDS[one.kind],
  name: one.name,
  updatedDttm: one.updatedAt,
})

const presentEnvironment = (one: ListedEnvironment): Environment => ({
  slug: one.slug,
  displayName: one.displayName,
  isDefault: one.isDefault,
  type: TYPES[one.type],
  repositoryUrl: one.repositoryUrl,
  defaultBranch: one.defaultBranch,
  deploymentBranch: one.deploymentBranch,
  installStep: one.installStep,
  pythonPackages: [...one.pythonPackages],
  excludedFiles: one.excludedFiles === null ? null : [...one.excludedFiles],
  workerLabels: [...one.workerLabels],
  stopSeconds: one.stopSeconds,
  variables: one.variables.map(({ name, value }) => ({ name, value })),
  secrets: one.secrets.map(presentSecret),
})

export const presentEnvironments = (list: EnvironmentList): Environments => ({
  ok: true,
  environments: list.environments.map(presentEnvironment),
  variables: list.variables.map(({ name, value }) => ({ name, value })),
  secrets: list.secrets.map(presentSecret),
})
