// Which files of a repository hold schedules. A deployment can name others.

export interface ScheduleFileNames {
  /** Folders in which every .yml and .yaml file is one, at any depth. */
  readonly folders: readonly string[]
  readonly files: readonly string[]
}

export const isScheduleFile =
  ({ folders, files }: ScheduleFileNames) =>
  (path: string): boolean =>
    files.includes(path) || (/\.ya?ml$/.test(path) && folders.some((folder) => path.startsWith(`${folder}/`)))
