// Which files of a repository hold schedules.
import { z } from 'zod'
import { listOf, meta, text } from './leaf.ts'
import { repositoryPathRule } from './rules.ts'

export const schedules = z.strictObject({
  folders: listOf(text(repositoryPathRule))
    .default(['.bolt'])
    .meta(
      meta({
        env: 'YARDMASTER_SCHEDULES_FOLDERS',
        description:
          'Folders of a repository in which every `.yml` and `.yaml` file holds schedules, at any depth. For none at all, write an empty list in the file.',
        form: 'a list of paths relative to the root of the repository, separated by commas',
        example: '.bolt,dbt/.bolt',
      }),
    ),
  files: listOf(text(repositoryPathRule))
    .default(['paradime_schedules.yml', 'paradime_schedules.yaml'])
    .meta(
      meta({
        env: 'YARDMASTER_SCHEDULES_FILES',
        description: 'Single files of a repository that hold schedules, besides those in `schedules.folders`.',
        form: 'a list of paths relative to the root of the repository, separated by commas',
        example: 'schedules.yml',
      }),
    ),
})
