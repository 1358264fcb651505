// The settings of what executes runs: workers, commands, the blobs that they leave, and how long everything is kept.
import { z } from 'zod'
import { listOf, meta, secret, text, whole } from './leaf.ts'
import {
  bucketRule,
  endpointRule,
  labelRule,
  nameRule,
  pathRule,
  prefixRule,
  targetRule,
  variablePatternRule,
} from './rules.ts'

const ISOLATION = ['auto', 'L0', 'L1', 'container'] as const
const USERS = ['auto', 'service'] as const

export const worker = z.strictObject({
  slots: whole(1, 256, 4, {
    env: 'YARDMASTER_WORKER_SLOTS',
    description: 'How many runs one worker executes at once.',
  }),
  labels: listOf(text(labelRule))
    .default([])
    .meta(
      meta({
        env: 'YARDMASTER_WORKER_LABELS',
        description: 'What this worker is fit for. Runs of an environment go to workers that have all of its labels.',
        form: 'a list of words (letters, digits, `_`, `.`, `-`), separated by commas',
        example: 'gpu,eu-west',
      }),
    ),
  leaseSeconds: whole(3, 3600, 60, {
    env: 'YARDMASTER_WORKER_LEASE_SECONDS',
    description:
      'How long a worker that is not heard of keeps its runs; then they end as FAILED. Workers of one database need the same.',
  }),
  waitLimitSeconds: whole(60, 31_536_000, 86_400, {
    env: 'YARDMASTER_WORKER_WAIT_LIMIT_SECONDS',
    description:
      'How long a run whose turn has come waits for a worker that may take it; then it ends as FAILED and names the labels that no worker has.',
  }),
  drainSeconds: whole(0, 604_800, 0, {
    env: 'YARDMASTER_WORKER_DRAIN_SECONDS',
    description:
      'How long `yardmaster worker` waits for its runs when it is stopped; 0 is without limit. `serve` waits for `drainSeconds`.',
  }),
})

export const commands = z.strictObject({
  isolation: z
    .enum(ISOLATION)
    .default('auto')
    .meta(
      meta({
        env: 'YARDMASTER_COMMANDS_ISOLATION',
        description:
          'How far commands are kept apart: L1 in namespaces of their own, L0 in plain process groups, `container` with docker or podman; `auto` is L1 where the host allows it.',
        form: `one of ${ISOLATION.join(', ')}`,
        example: 'L1',
      }),
    ),
  user: z
    .enum(USERS)
    .default('auto')
    .meta(
      meta({
        env: 'YARDMASTER_COMMANDS_USER',
        description:
          'Whom commands run as when the service is root: `auto` is the user nobody where commands are in namespaces and nobody can use every folder of the PATH, `service` is root without its rights.',
        form: `one of ${USERS.join(', ')}`,
        example: 'service',
      }),
    ),
  image: text(nameRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_COMMANDS_IMAGE',
        description: 'The image that commands run in with `commands.isolation` container.',
        form: 'the name of an image, with its tag or digest',
        example: 'docker.io/library/python:3.13',
      }),
    ),
  engine: text(nameRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_COMMANDS_ENGINE',
        description: 'The program of the container engine, with `commands.isolation` container.',
        form: 'the path of docker, podman or a program that takes the same arguments',
        example: '/usr/bin/podman',
        defaultText: 'docker, or podman where there is no docker',
      }),
    ),
  network: text(nameRule)
    .default('bridge')
    .meta(
      meta({
        env: 'YARDMASTER_COMMANDS_NETWORK',
        description: 'The network of the containers that commands run in.',
        form: 'none, bridge, host, or the name of a network of the engine',
        example: 'none',
      }),
    ),
  timeLimitSeconds: whole(1, 31_536_000, 86_400, {
    env: 'YARDMASTER_COMMANDS_TIME_LIMIT_SECONDS',
    description: 'How long a run may take when its schedule has no limit of its own.',
  }),
  memoryMib: whole(0, 16_777_216, 0, {
    env: 'YARDMASTER_COMMANDS_MEMORY_MIB',
    description: 'How much memory a command may use, in MiB; 0 is without limit.',
  }),
  processes: whole(0, 4_194_304, 4096, {
    env: 'YARDMASTER_COMMANDS_PROCESSES',
    description: 'How many processes and threads a command may have; 0 is without limit.',
  }),
  fileMib: whole(0, 16_777_216, 0, {
    env: 'YARDMASTER_COMMANDS_FILE_MIB',
    description: 'How large a file of a command may grow, in MiB; 0 is without limit.',
  }),
  outputMib: whole(1, 1_048_576, 1024, {
    env: 'YARDMASTER_COMMANDS_OUTPUT_MIB',
    description:
      'How much output of one command is kept, in MiB; the command goes on after that, and its log says what is missing.',
  }),
  environment: listOf(text(variablePatternRule))
    .default([])
    .meta(
      meta({
        env: 'YARDMASTER_COMMANDS_ENVIRONMENT',
        description:
          "Variables of the worker that its commands may see, besides PATH, HOME, the language, proxies, certificates and pip's index.",
        form: 'a list of names, separated by commas; a `*` at the end stands for whatever follows',
        example: 'DBT_*,SNOWFLAKE_ACCOUNT',
      }),
    ),
})

export const blobs = z.strictObject({
  folder: text(pathRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_BLOBS_FOLDER',
        description:
          'Where files of runs are kept, unless `blobs.s3Bucket` is given. Servers and workers on several hosts need one that all of them mount.',
        form: 'the path of a folder, absolute or relative to the working folder',
        example: '/mnt/shared/yardmaster-blobs',
        defaultText: '`blobs` in the data folder',
      }),
    ),
  s3Bucket: text(bucketRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_BLOBS_S3_BUCKET',
        description:
          'Keeps files of runs in this bucket of S3, or of a server that speaks its language, and not in a folder.',
        form: 'the name of a bucket',
        example: 'yardmaster-files',
      }),
    ),
  s3Endpoint: text(endpointRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_BLOBS_S3_ENDPOINT',
        description: 'The server of the bucket, where it is not S3 itself.',
        form: 'an http:// or https:// URL without path, query or credentials',
        example: 'https://minio.example.com:9000',
      }),
    ),
  s3Region: text(nameRule)
    .default('us-east-1')
    .meta(
      meta({
        env: 'YARDMASTER_BLOBS_S3_REGION',
        description: 'The region of the bucket.',
        form: 'the name of a region',
        example: 'eu-central-1',
      }),
    ),
  s3Prefix: text(prefixRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_BLOBS_S3_PREFIX',
        description: 'What the names of all objects begin with.',
        form: 'words joined by slashes, without one at either end',
        example: 'production/yardmaster',
      }),
    ),
  s3AccessKey: text(nameRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_BLOBS_S3_ACCESS_KEY',
        description:
          'The access key of the bucket. Without it the usual places of the host are looked at (a role, AWS_… variables).',
        form: 'an access key id',
        example: 'AKIAEXAMPLE',
      }),
    ),
  s3SecretKey: secret(nameRule).meta(
    meta({
      env: 'YARDMASTER_BLOBS_S3_SECRET_KEY',
      secret: true,
      description: 'The secret that belongs to `blobs.s3AccessKey`.',
      form: 'a secret access key',
    }),
  ),
})

const days = (fallback: number, env: string, what: string) =>
  whole(0, 36_500, fallback, { env, description: `${what}, in days; 0 keeps them for ever.` })

export const retention = z.strictObject({
  runDays: days(
    90,
    'YARDMASTER_RETENTION_RUN_DAYS',
    'How long ended runs are kept, save the latest and the latest successful run of each schedule',
  ),
  logDays: days(30, 'YARDMASTER_RETENTION_LOG_DAYS', 'How long the output of commands is kept'),
  fileDays: days(
    30,
    'YARDMASTER_RETENTION_FILE_DAYS',
    'How long files of runs are kept, save those of the same two runs',
  ),
  deliveryDays: days(
    30,
    'YARDMASTER_RETENTION_DELIVERY_DAYS',
    'How long messages and webhooks that were delivered or given up are kept, with their tries',
  ),
})

export const outgoing = z.strictObject({
  allow: listOf(text(targetRule))
    .default([])
    .meta(
      meta({
        env: 'YARDMASTER_OUTGOING_ALLOW',
        description:
          'Addresses, networks and hosts that webhooks, integrations and models may reach although they are private, on this machine or reserved; `http://` is taken for them too.',
        form: 'a list of IP addresses, networks and host names, separated by commas',
        example: '10.20.0.0/16,hooks.internal.example.com',
      }),
    ),
  allowHttp: z
    .boolean()
    .default(false)
    .meta(
      meta({
        env: 'YARDMASTER_OUTGOING_ALLOW_HTTP',
        description: 'Whether webhooks, integrations and models may reach any host without encryption, by `http://`.',
        form: 'true or false',
        example: 'true',
      }),
    ),
})
