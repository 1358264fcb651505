-- The account, its people, their keys, what they did. Every table of a workspace carries workspace_id, and every
-- query names it. Wire ids are 32-bit integers; times are timestamptz and get their wire form in SQL.

-- The wire form of a time: JavaScript dates lose the microseconds, so it is made here. Null stays null.
create function wire_time(at timestamptz) returns text language sql stable as $$
  select to_char(at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS.US')
$$;

create table account (
  id                    integer primary key default 1 check (id = 1),
  name                  text not null,
  -- Feature switches. Off answers FEATURE_DISABLED; programmable agents have their switch on the workspace.
  scheduling            boolean not null default true,
  user_management       boolean not null default true,
  workspace_management  boolean not null default true,
  audit_logs            boolean not null default true,
  created_at            timestamptz not null default clock_timestamp()
);

create table workspace (
  id            integer generated always as identity primary key,
  uid           text not null unique check (uid ~ '^[a-z0-9]{16}$'),
  name          text not null check (length(name) between 1 and 128),
  agents        boolean not null default true,
  created_at    timestamptz not null default clock_timestamp(),
  archived_at   timestamptz
);
create unique index workspace_name on workspace (lower(name)) where archived_at is null;

create table environment (
  id                 integer generated always as identity primary key,
  workspace_id       integer not null references workspace,
  slug               text not null check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 80),
  display_name       text not null check (length(display_name) between 1 and 128),
  type               text not null check (type in ('scheduler', 'agent')),
  is_default         boolean not null default false,
  repository_url     text not null default '',
  default_branch     text not null default 'main',
  deployment_branch  text,
  install_step       text,
  python_packages    text[] not null default '{}',
  excluded_files     text[],
  created_at         timestamptz not null default clock_timestamp(),
  archived_at        timestamptz,
  unique (workspace_id, id)
);
create unique index environment_slug on environment (workspace_id, slug) where archived_at is null;
create unique index environment_default on environment (workspace_id, type) where is_default and archived_at is null;

-- Plain values of a workspace (environment_id null) or of one environment.
create table variable (
  workspace_id    integer not null references workspace,
  environment_id  integer,
  name            text not null,
  value           text not null,
  updated_at      timestamptz not null default clock_timestamp(),
  unique nulls not distinct (workspace_id, environment_id, name),
  foreign key (workspace_id, environment_id) references environment (workspace_id, id)
);

-- Values that are written and never read back through the API: sealed by a data key of their own, which is wrapped
-- by the master key named by kid. workspace, environment, kind, name and version are the associated data, so a row
-- that is moved or rolled back does not open.
create table secret (
  id              integer generated always as identity primary key,
  workspace_id    integer not null references workspace,
  environment_id  integer,
  kind            text not null check (kind in ('variable', 'file', 'credential')),
  name            text not null,
  version         integer not null default 1,
  kid             text not null,
  wrapped_key     bytea not null,
  sealed          bytea not null,
  updated_at      timestamptz not null default clock_timestamp(),
  unique nulls not distinct (workspace_id, environment_id, kind, name),
  foreign key (workspace_id, environment_id) references environment (workspace_id, id)
);

-- One sealed known value per master key that this database has seen: opening it at start proves the key fits.
create table master_key (
  kid         text primary key,
  wrapped_key bytea not null,
  sealed      bytea not null,
  created_at  timestamptz not null default clock_timestamp()
);

create table person (
  id             integer generated always as identity primary key,
  uid            text not null unique check (uid ~ '^[a-z0-9]{16}$'),
  email          text not null check (length(email) <= 254),
  name           text not null check (length(name) <= 128),
  password_hash  text,
  created_at     timestamptz not null default clock_timestamp()
);
create unique index person_email on person (lower(email));

create table membership (
  workspace_id  integer not null references workspace,
  person_id     integer not null references person,
  account_type  text not null,
  created_at    timestamptz not null default clock_timestamp(),
  disabled_at   timestamptz,
  primary key (workspace_id, person_id),
  constraint membership_account_type check (account_type in ('ADMIN', 'DEVELOPER', 'BUSINESS', 'ANALYST',
    'WORKSPACE_ADMIN', 'WORKSPACE_SETTINGS_ADMIN', 'SECURITY_ADMIN', 'BILLING_ADMIN', 'SANDBOX_USER'))
);
create index membership_person on membership (person_id);

create table invitation (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  email         text not null,
  account_type  text not null,
  token_hash    bytea not null unique,
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  accepted_at   timestamptz,
  revoked_at    timestamptz,
  check (accepted_at is null or revoked_at is null),
  constraint invitation_account_type check (account_type in ('ADMIN', 'DEVELOPER', 'BUSINESS', 'ANALYST',
    'WORKSPACE_ADMIN', 'WORKSPACE_SETTINGS_ADMIN', 'SECURITY_ADMIN', 'BILLING_ADMIN', 'SANDBOX_USER'))
);
-- Inviting again renews the open invitation; there is never more than one.
create unique index invitation_open on invitation (workspace_id, lower(email))
  where accepted_at is null and revoked_at is null;

create table session (
  id            integer generated always as identity primary key,
  person_id     integer not null references person,
  token_hash    bytea not null unique,
  address       text not null,
  user_agent    text not null,
  created_at    timestamptz not null default clock_timestamp(),
  last_seen_at  timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  ended_at      timestamptz
);
create index session_person on session (person_id) where ended_at is null;

create table one_time_link (
  id          integer generated always as identity primary key,
  person_id   integer not null references person,
  purpose     text not null check (purpose in ('sign_in', 'password_reset')),
  token_hash  bytea not null unique,
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  used_at     timestamptz
);

create table api_key (
  id             integer generated always as identity primary key,
  public_id      text not null unique check (public_id ~ '^[A-Za-z0-9]{12}$'),
  kind           text not null check (kind in ('account', 'workspace', 'pair', 'personal')),
  name           text not null check (length(name) between 1 and 128),
  client         text check (client in ('paradime')),
  workspace_id   integer references workspace,
  person_id      integer references person,
  capabilities   text[] not null,
  -- HMAC-SHA-256 of the secret under a pepper made from the master key named by kid.
  kid            text not null,
  secret_hash    bytea not null check (length(secret_hash) = 32),
  created_by     integer references person,
  created_at     timestamptz not null default clock_timestamp(),
  expires_at     timestamptz,
  last_used_at   timestamptz,
  revoked_at     timestamptz,
  check ((kind in ('workspace', 'pair')) = (workspace_id is not null)),
  check ((kind = 'personal') = (person_id is not null))
);
create index api_key_workspace on api_key (workspace_id);
create index api_key_person on api_key (person_id);

-- The answer of a mutation that came with an Idempotency-Key, written in the mutation's own transaction. Sealed,
-- because an answer may hold a key that is shown once.
create table idempotent_answer (
  scope        text not null,
  key          text not null,
  position     integer not null,
  body_hash    bytea not null,
  kid          text not null,
  wrapped_key  bytea not null,
  sealed       bytea not null,
  created_at   timestamptz not null default clock_timestamp(),
  primary key (scope, key, position)
);
create index idempotent_answer_age on idempotent_answer (created_at);

-- Append-only and chained: mac is an HMAC over the row and the mac before it. Ids have no gaps, because the head row
-- gives them out under its lock, which is taken last in every transaction and held until its commit.
create table audit_log (
  id               integer primary key,
  created_at       timestamptz not null,
  workspace_id     integer not null,
  workspace_name   text not null,
  actor_type       text not null check (actor_type in ('user', 'api_key', 'system')),
  actor_user_id    integer not null,
  actor_email      text not null,
  event_source_id  integer not null,
  event_source     text not null,
  event_id         integer not null,
  event_type       text not null,
  -- text, not jsonb: the mac covers these very bytes.
  metadata         text not null check (metadata::jsonb is not null),
  kid              text not null,
  mac              bytea not null check (length(mac) = 32)
);
create index audit_log_workspace on audit_log (workspace_id, id);
create index audit_log_created on audit_log (created_at);

create table audit_head (
  id        integer primary key default 1 check (id = 1),
  last_id   integer not null default 0,
  last_mac  bytea not null default '\x0000000000000000000000000000000000000000000000000000000000000000'
);
insert into audit_head default values;

-- How often the refusal in one record was repeated within its hour. Beside the log, because the log never changes.
create table audit_refusal (
  principal   text not null,
  event_id    integer not null,
  hour        timestamptz not null,
  audit_id    integer not null,
  count       integer not null,
  updated_at  timestamptz not null,
  mac         bytea not null,
  primary key (principal, event_id, hour)
);
create unique index audit_refusal_audit on audit_refusal (audit_id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only: % is refused', tg_op using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_change();
create trigger audit_log_is_not_truncated before truncate on audit_log
  for each statement execute function refuse_change();
-- Fires also where session_replication_role is set to replica.
alter table audit_log enable always trigger audit_log_is_append_only;
alter table audit_log enable always trigger audit_log_is_not_truncated;

-- One row per running process, written by its readiness check: the proof that it can commit.
create table node (
  id          text primary key,
  host        text not null,
  pid         integer not null,
  roles       text[] not null,
  -- The master keys of its ring: a rotation waits until every running process can open what it will write.
  kids        text[] not null,
  version     text not null,
  started_at  timestamptz not null default clock_timestamp(),
  seen_at     timestamptz not null default clock_timestamp()
);
