// The one list of settings. The loader, `yardmaster config`, the reference in docs/configuration.md and the text of
// every fault are made from it: to add a setting, add a leaf here and run `npm run generate`.
import { z } from 'zod'
import { agents } from './agent-settings.ts'
import { listOf, meta, secret, text, whole } from './leaf.ts'
import {
  buttonRule,
  clientRule,
  headerRule,
  hostRule,
  issuerRule,
  mailboxRule,
  masterKeyRule,
  networkRule,
  pathRule,
  postgresRule,
  publicUrlRule,
  smtpRule,
  tokenRule,
} from './rules.ts'
import { blobs, commands, outgoing, retention, worker } from './run-settings.ts'
import { schedules } from './schedule-settings.ts'
import type { Secret } from './secret.ts'

export type { SettingMeta } from './leaf.ts'

const ROLES = ['api', 'scheduler', 'worker'] as const
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const

export type Role = (typeof ROLES)[number]
export type LogLevel = (typeof LEVELS)[number]

const leaves = z.strictObject({
  data: text(pathRule)
    .default('.yardmaster')
    .meta(
      meta({
        env: 'YARDMASTER_DATA',
        description:
          'Where Yardmaster keeps what it owns: the embedded database, the master key, mirrors of repositories. Made with mode 0700 when it is missing.',
        form: 'the path of a folder, absolute or relative to the working folder',
        example: '/var/lib/yardmaster',
      }),
    ),
  host: text(hostRule)
    .default('127.0.0.1')
    .meta(
      meta({
        env: 'YARDMASTER_HOST',
        description:
          'The address to listen on. The default answers only on this machine; `0.0.0.0` or `::` is every address.',
        form: 'an IP address or a host name',
        example: '0.0.0.0',
      }),
    ),
  port: whole(0, 65535, 4400, {
    env: 'YARDMASTER_PORT',
    description: 'The port to listen on; 0 takes any free one.',
    example: '4400',
  }),
  publicUrl: text(publicUrlRule)
    .transform((url) => new URL(url).origin)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_PUBLIC_URL',
        description:
          'The address under which people reach Yardmaster. Every link (in mails, on pages) is made from it, never from a request.',
        form: 'an http:// or https:// URL without path, query or credentials',
        example: 'https://yardmaster.example.com',
        defaultText: 'made from host, port and TLS, such as `http://127.0.0.1:4400`',
      }),
    ),
  trustProxy: listOf(text(networkRule))
    .default([])
    .meta(
      meta({
        env: 'YARDMASTER_TRUST_PROXY',
        description:
          "The proxies whose `X-Forwarded-For` is believed. Without it a client's address is that of its connection, and limits count by it.",
        form: 'a list of IP addresses and networks, separated by commas',
        example: '10.0.0.5,192.168.0.0/16',
      }),
    ),
  tls: z.strictObject({
    certFile: text(pathRule)
      .optional()
      .meta(
        meta({
          env: 'YARDMASTER_TLS_CERT_FILE',
          description: 'The certificate chain to serve HTTPS with. Needs `tls.keyFile` too.',
          form: 'the path of a file with certificates in PEM form',
          example: '/etc/yardmaster/cert.pem',
        }),
      ),
    keyFile: text(pathRule)
      .optional()
      .meta(
        meta({
          env: 'YARDMASTER_TLS_KEY_FILE',
          description:
            'The private key of the certificate; other users must not be able to read it. Needs `tls.certFile` too.',
          form: 'the path of a file with a private key in PEM form',
          example: '/etc/yardmaster/key.pem',
        }),
      ),
  }),
  roles: listOf(z.enum(ROLES))
    .min(1)
    .default([...ROLES])
    .meta(
      meta({
        env: 'YARDMASTER_ROLES',
        description: 'What this process does: answer requests, start runs when they are due, execute runs.',
        form: `a list of ${ROLES.join(', ')}, separated by commas, each at most once`,
        example: 'api,scheduler',
      }),
    ),
  workspaceHeaders: listOf(text(headerRule))
    .default(['X-Paradime-Workspace'])
    .meta(
      meta({
        env: 'YARDMASTER_WORKSPACE_HEADERS',
        description:
          'Further request headers that mean the same as `X-Service-Workspace`. For none at all, write an empty list in the file.',
        form: 'a list of header names, separated by commas',
        example: 'X-Paradime-Workspace',
      }),
    ),
  metrics: z.strictObject({
    token: secret(tokenRule).meta(
      meta({
        env: 'YARDMASTER_METRICS_TOKEN',
        secret: true,
        description: 'The bearer token that `/metrics` asks for.',
        form: 'a text of at least 16 characters without spaces (make one with: openssl rand -hex 24)',
      }),
    ),
  }),
  database: z.strictObject({
    url: secret(postgresRule).meta(
      meta({
        env: 'DATABASE_URL',
        secret: true,
        description: 'The PostgreSQL to use. Without it Yardmaster runs one of its own in the data folder.',
        form: 'a URL such as postgresql://user:password@host:5432/yardmaster',
      }),
    ),
    ownerUrl: secret(postgresRule).meta(
      meta({
        env: 'YARDMASTER_DATABASE_OWNER_URL',
        secret: true,
        description:
          'The same database as `database.url`, as the role that owns the tables; migrations run as it, so that the service itself cannot alter the audit log.',
        form: 'a URL such as postgresql://owner:password@host:5432/yardmaster',
      }),
    ),
    poolSize: whole(2, 200, 10, {
      env: 'YARDMASTER_DATABASE_POOL_SIZE',
      description: 'How many connections one process opens to the database at most.',
    }),
    queryTimeoutMs: whole(100, 600_000, 10_000, {
      env: 'YARDMASTER_DATABASE_QUERY_TIMEOUT_MS',
      description: 'How long a query may take, in milliseconds, before its connection is given up.',
    }),
  }),
  masterKey: secret(masterKeyRule).meta(
    meta({
      env: 'YARDMASTER_MASTER_KEY',
      secret: true,
      description:
        'The key that stored secrets are encrypted under. Without it one is made in the data folder. Several hosts on one database need the same. To rotate, put the new key first and keep the old one behind it.',
      form: 'one or more keys of 32 bytes in base64, separated by commas (make one with: openssl rand -base64 32)',
    }),
  ),
  mail: z.strictObject({
    smtpUrl: secret(smtpRule).meta(
      meta({
        env: 'YARDMASTER_SMTP_URL',
        secret: true,
        description:
          'The mail server for invitations and password resets. Without it links are shown where the service logs. With credentials STARTTLS is required; `?requireTLS=false` or `?verifyCertificate=false` at the end does without.',
        form: 'a URL such as smtps://user:password@mail.example.com',
      }),
    ),
    from: text(mailboxRule)
      .default('Yardmaster <yardmaster@localhost>')
      .meta(
        meta({
          env: 'YARDMASTER_MAIL_FROM',
          description: 'The sender of mails.',
          form: 'a mail address, with or without a name',
          example: 'Yardmaster <yardmaster@example.com>',
        }),
      ),
  }),
  oidc: z.strictObject({
    issuer: text(issuerRule)
      .optional()
      .meta(
        meta({
          env: 'YARDMASTER_OIDC_ISSUER',
          description:
            'The OpenID Connect provider for single sign-on, as it names itself. Register `<publicUrl>/signin/sso/callback` there.',
          form: 'an https:// URL (http:// on this machine) without query or credentials',
          example: 'https://login.example.com',
        }),
      ),
    clientId: text(clientRule)
      .optional()
      .meta(
        meta({
          env: 'YARDMASTER_OIDC_CLIENT_ID',
          description: 'The name under which the provider knows Yardmaster.',
          form: 'the client id that the provider gave out',
          example: 'yardmaster',
        }),
      ),
    clientSecret: secret(clientRule).meta(
      meta({
        env: 'YARDMASTER_OIDC_CLIENT_SECRET',
        secret: true,
        description: 'The secret that belongs to `oidc.clientId`.',
        form: 'the client secret that the provider gave out',
      }),
    ),
    name: text(buttonRule)
      .default('single sign-on')
      .meta(
        meta({
          env: 'YARDMASTER_OIDC_NAME',
          description: 'What the button on the sign-in page calls the provider: "Sign in with …".',
          form: 'one line of at most 60 characters',
          example: 'Example Corp',
        }),
      ),
  }),
  log: z.strictObject({
    level: z
      .enum(LEVELS)
      .default('info')
      .meta(
        meta({
          env: 'YARDMASTER_LOG_LEVEL',
          description: 'The least important lines that are still logged.',
          form: `one of ${LEVELS.join(', ')}`,
          example: 'debug',
        }),
      ),
  }),
  limits: z.strictObject({
    requestsPerSecond: whole(1, 100_000, 50, {
      env: 'YARDMASTER_REQUESTS_PER_SECOND',
      description: 'How many requests a second one key may make over time.',
    }),
    requestBurst: whole(1, 1_000_000, 200, {
      env: 'YARDMASTER_REQUEST_BURST',
      description: 'How many requests one key may make at once after a pause.',
    }),
    badCredentialsPerMinute: whole(1, 100_000, 10, {
      env: 'YARDMASTER_BAD_CREDENTIALS_PER_MINUTE',
      description: 'How many wrong keys a minute are checked for one address and key id; good keys are never held up.',
    }),
    signInsPerMinute: whole(1, 100_000, 10, {
      env: 'YARDMASTER_SIGN_INS_PER_MINUTE',
      description: 'How many sign-ins a minute are tried for one address and for one person.',
    }),
    maxConnections: whole(10, 1_000_000, 20_000, {
      env: 'YARDMASTER_MAX_CONNECTIONS',
      description: 'How many client connections are open at once; further ones are closed at once.',
    }),
  }),
  drainSeconds: whole(0, 3600, 30, {
    env: 'YARDMASTER_DRAIN_SECONDS',
    description: 'How long a stop waits for requests that are going on. A second signal does not wait.',
  }),
  schedules,
  worker,
  commands,
  blobs,
  retention,
  outgoing,
  agents,
  session: z.strictObject({
    hours: whole(1, 8760, 168, {
      env: 'YARDMASTER_SESSION_HOURS',
      description: 'How many hours a person stays signed in.',
    }),
  }),
  demo: z
    .boolean()
    .default(true)
    .meta(
      meta({
        env: 'YARDMASTER_DEMO',
        description: 'Whether the first start on an empty data folder makes the workspace `Demo`.',
        form: 'true or false',
        example: 'false',
      }),
    ),
})

/** A rule over two settings, told apart from a rule of one by `params.needs` (the other setting). */
const relation = (path: readonly [string, string], needs: string, error: string) => ({
  path: [...path],
  params: { needs },
  error,
  // Without this zod leaves out rules of the whole as soon as one leaf is bad, and the list of faults is not complete.
  when: () => true,
})

/** Either needs the other: a pair of settings that is nothing by halves. */
const pairedWith = (
  missing: 's3Bucket' | 's3AccessKey' | 's3SecretKey',
  given: 's3Endpoint' | 's3AccessKey' | 's3SecretKey',
  env: string,
) =>
  z.refine<z.output<typeof leaves>>(
    ({ blobs }) => blobs[given] === undefined || blobs[missing] !== undefined,
    relation(
      ['blobs', missing],
      `blobs.${given}`,
      `is missing, while blobs.${given} is given. Set ${env} too, or remove blobs.${given}.`,
    ),
  )

/** Single sign-on has three settings that are nothing without each other: the one that is missing is named. */
const oidcNeeds = (missing: 'issuer' | 'clientId' | 'clientSecret', env: string, given: 'issuer' | 'clientId') =>
  z.refine<z.output<typeof leaves>>(
    ({ oidc }) =>
      oidc[missing] !== undefined ||
      (oidc.issuer === undefined && oidc.clientId === undefined && oidc.clientSecret === undefined),
    relation(
      ['oidc', missing],
      `oidc.${given}`,
      `is missing, while other settings of single sign-on are given. Set ${env} too, or remove the others to do without single sign-on.`,
    ),
  )

export const schema = leaves.check(
  z.refine(
    ({ tls }) => tls.keyFile === undefined || tls.certFile !== undefined,
    relation(
      ['tls', 'certFile'],
      'tls.keyFile',
      'is missing, while tls.keyFile is given. Set YARDMASTER_TLS_CERT_FILE too, or remove tls.keyFile to serve plain HTTP.',
    ),
  ),
  z.refine(
    ({ tls }) => tls.certFile === undefined || tls.keyFile !== undefined,
    relation(
      ['tls', 'keyFile'],
      'tls.certFile',
      'is missing, while tls.certFile is given. Set YARDMASTER_TLS_KEY_FILE too, or remove tls.certFile to serve plain HTTP.',
    ),
  ),
  z.refine(
    ({ database }) => database.ownerUrl === undefined || database.url !== undefined,
    relation(
      ['database', 'ownerUrl'],
      'database.url',
      'is given without database.url; the embedded database has an owner of its own. Set DATABASE_URL too, or remove YARDMASTER_DATABASE_OWNER_URL.',
    ),
  ),
  z.refine(
    ({ commands }) => commands.isolation !== 'container' || commands.image !== undefined,
    relation(
      ['commands', 'image'],
      'commands.isolation',
      'is missing, while commands.isolation is container. Set YARDMASTER_COMMANDS_IMAGE too, or choose another isolation.',
    ),
  ),
  z.refine(
    ({ agents, commands }) =>
      agents.sandbox !== 'container' || agents.image !== undefined || commands.image !== undefined,
    relation(
      ['agents', 'image'],
      'agents.sandbox',
      'is missing, while agents.sandbox is container. Set YARDMASTER_AGENTS_IMAGE too, or choose another sandbox.',
    ),
  ),
  pairedWith('s3Bucket', 's3Endpoint', 'YARDMASTER_BLOBS_S3_BUCKET'),
  pairedWith('s3Bucket', 's3AccessKey', 'YARDMASTER_BLOBS_S3_BUCKET'),
  pairedWith('s3SecretKey', 's3AccessKey', 'YARDMASTER_BLOBS_S3_SECRET_KEY'),
  pairedWith('s3AccessKey', 's3SecretKey', 'YARDMASTER_BLOBS_S3_ACCESS_KEY'),
  oidcNeeds('issuer', 'YARDMASTER_OIDC_ISSUER', 'clientId'),
  oidcNeeds('clientId', 'YARDMASTER_OIDC_CLIENT_ID', 'issuer'),
  oidcNeeds('clientSecret', 'YARDMASTER_OIDC_CLIENT_SECRET', 'issuer'),
)

type Parsed = z.output<typeof schema>

type Frozen<T> = T extends Secret
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Frozen<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Frozen<T[Key]> }
      : T

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** What is in force: paths are absolute, `publicUrl` and `blobs.folder` are filled in, TLS is both files or null. Frozen at every depth. */
export type Config = Frozen<Omit<Parsed, 'publicUrl' | 'tls' | 'blobs'>> & {
  readonly blobs: Frozen<Omit<Parsed['blobs'], 'folder'>> & { readonly folder: string }
  readonly publicUrl: string
  readonly tls: TlsFiles | null
  /** The files that settings and secrets were read from, or would be: nobody else's business. */
  readonly privateFiles: readonly string[]
}

type Section = Extract<
  keyof Parsed,
  | ('tls' | 'metrics' | 'database' | 'mail' | 'oidc' | 'log' | 'limits' | 'session')
  | ('schedules' | 'worker' | 'commands' | 'blobs' | 'retention' | 'outgoing' | 'agents')
>

/** The path of a setting, such as `port` or `database.url`. */
export type SettingPath =
  | Exclude<keyof Parsed, Section>
  | { [S in Section]: `${S}.${keyof Parsed[S] & string}` }[Section]
