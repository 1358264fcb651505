import type { SyncState } from '../../../app/schedule-sync.ts'
import type { Finding } from '../../../domain/schedule-file-yaml.ts'
import type { BoltScheduleFiles, BoltScheduleFinding } from '../wire-types.ts'

const presentFinding = ({ file, place, message }: Finding): BoltScheduleFinding => ({
  file,
  line: place?.line ?? null,
  column: place?.column ?? null,
  message,
})

/** Null before the first look. */
export function presentScheduleFiles(state: SyncState | null): BoltScheduleFiles {
  const findings = (severity: Finding['severity']) =>
    (state?.findings ?? []).filter((one) => one.severity === severity).map(presentFinding)
  return {
    ok: true,
    repositoryUrl: state?.repositoryUrl ?? '',
    branch: state?.branch ?? '',
    commitHash: state?.commitHash ?? '',
    syncedAt: state?.syncedAt ?? null,
    checkedAt: state?.checkedAt ?? null,
    warning: state?.warning ?? '',
    files: (state?.files ?? []).map(({ path, schedules, ok }) => ({ path, schedules, ok })),
    faults: findings('fault'),
    warnings: findings('warning'),
  }
}
