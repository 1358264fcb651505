-- Schedules, their runs, and what runs leave behind. The run's row is the truth: a queue job only says that somebody
-- should look. Big tables (log chunks) are partitioned by day so that retention drops partitions.

-- Runs of the environment go to workers that have all of these labels.
alter table environment add column worker_labels text[] not null default '{}';
-- What the worker of a process is fit for.
alter table node add column labels text[] not null default '{}';
-- How long a canceled command may take to end by itself, in all.
alter table environment add column stop_seconds integer not null default 5 check (stop_seconds between 5 and 3600);

create table schedule (
  id                       integer generated always as identity primary key,
  uuid                     uuid not null unique default gen_random_uuid(),
  workspace_id             integer not null references workspace,
  environment_id           integer not null,
  slug                     text not null check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 80),
  name                     text not null check (length(name) between 1 and 128),
  -- A cron expression as it was written, or OFF.
  cron                     text not null,
  timezone                 text not null default 'UTC',
  description              text not null default '',
  owner_email              text not null default '',
  source                   text not null default 'ui' check (source in ('ui', 'yaml')),
  source_file              text,
  suspended                boolean not null default false,
  -- Deleted, or gone from its file: inactive. Its history stays readable.
  deleted_at               timestamptz,
  -- [{ "command": text, "continueOnError": boolean or null }]
  commands                 jsonb not null,
  git_branch               text,
  continue_on_error        boolean not null default false,
  sla_seconds              integer check (sla_seconds > 0),
  time_limit_seconds       integer check (time_limit_seconds > 0),
  trigger_on_merge         boolean not null default false,
  notifications            jsonb not null default '{}',
  self_healing             jsonb,
  integrations             jsonb,
  turbo_ci                 jsonb,
  deferred_schedule        jsonb,
  schedule_trigger         jsonb,
  labels                   text[] not null default '{}',
  overlap                  text not null default 'queue_one'
                           check (overlap in ('queue_one', 'skip', 'allow', 'cancel_previous')),
  catch_up                 text not null default 'latest' check (catch_up in ('latest', 'all', 'none')),
  catch_up_window_seconds  integer not null default 3600 check (catch_up_window_seconds between 0 and 2592000),
  -- The next time that the scheduler looks at; null for OFF, suspended and deleted ones.
  next_due_at              timestamptz,
  created_at               timestamptz not null default clock_timestamp(),
  updated_at               timestamptz not null default clock_timestamp(),
  unique (workspace_id, slug),
  unique (workspace_id, id),
  foreign key (workspace_id, environment_id) references environment (workspace_id, id),
  check (next_due_at is null or (not suspended and deleted_at is null and cron <> 'OFF'))
);
create index schedule_due on schedule (next_due_at) where next_due_at is not null;
create index schedule_list on schedule (workspace_id, name, id);
-- The children of a schedule, in whatever workspace they are.
create index schedule_parent on schedule (((schedule_trigger ->> 'parentId')::integer))
  where schedule_trigger is not null and deleted_at is null;

-- Values of a schedule's envVars: sealed, never served.
create table schedule_variable (
  workspace_id  integer not null,
  schedule_id   integer not null,
  name          text not null,
  kid           text not null,
  wrapped_key   bytea not null,
  sealed        bytea not null,
  primary key (schedule_id, name),
  foreign key (workspace_id, schedule_id) references schedule (workspace_id, id)
);

create table run (
  id                   integer generated always as identity primary key,
  workspace_id         integer not null references workspace,
  schedule_id          integer not null,
  environment_id       integer not null,
  cause                text not null check (cause in
                       ('cron', 'person', 'key', 'parent', 'merge', 'pull_request', 'retry', 'self_healing')),
  -- The due time of a tick; with schedule_id the proof that a tick fires once.
  due_at               timestamptz,
  state                text not null check (state in
                       ('waiting', 'starting', 'running', 'ending', 'succeeded', 'errored', 'failed', 'canceled', 'skipped')),
  -- Why a run was skipped or failed, in a sentence.
  detail               text not null default '',
  -- A skip row that stands for many: how many ticks, up to when.
  skipped_count        integer,
  skipped_until        timestamptz,
  actor                text not null,
  actor_email          text not null default '',
  reason               text not null default '',
  branch               text not null,
  commit_hash          text not null default '',
  pr_number            integer,
  parent_run_id        integer,
  retry_of             integer,
  -- Whether the retry's first failed dbt command was replaced, and from which run its state comes.
  continue_on_error    boolean not null default false,
  time_limit_seconds   integer,
  -- One hold of a worker on the run. Every later write names the attempt.
  attempt              integer not null default 0,
  worker_id            text,
  lease_until          timestamptz,
  -- How far its worker keeps its commands apart: L0, L1 or L2; empty until one has it.
  isolation            text not null default '' check (isolation in ('', 'L0', 'L1', 'L2')),
  cancel_requested_at  timestamptz,
  cancel_by            text not null default '',
  accepted_at          timestamptz not null default clock_timestamp(),
  -- When its turn came: a worker may take it. Null while it waits for another run of its schedule.
  released_at          timestamptz,
  started_at           timestamptz,
  ended_at             timestamptz,
  unique (workspace_id, id),
  foreign key (workspace_id, schedule_id) references schedule (workspace_id, id),
  foreign key (workspace_id, environment_id) references environment (workspace_id, id),
  check ((state in ('succeeded', 'errored', 'failed', 'canceled', 'skipped')) = (ended_at is not null)),
  check (state not in ('starting', 'running', 'ending') or (worker_id is not null and lease_until is not null))
);
create unique index run_tick on run (schedule_id, due_at) where due_at is not null;
create index run_list on run (schedule_id, id desc);
-- The latest run of a schedule is never a skipped one, of which there may be thousands in a row.
create index run_latest on run (schedule_id, id desc) where state <> 'skipped';
create index run_list_all on run (workspace_id, id desc);
create index run_open on run (schedule_id, id) where state in ('waiting', 'starting', 'running', 'ending');
create index run_claimable on run (id) where state = 'waiting' and released_at is not null;
-- What retention looks for.
create index run_ended on run (ended_at) where ended_at is not null;
create index run_worker on run (worker_id) where state in ('starting', 'running', 'ending');
create index run_held on run (lease_until) where state in ('starting', 'running', 'ending');

create table command (
  id                 integer generated always as identity primary key,
  workspace_id       integer not null,
  run_id             integer not null,
  position           integer not null,
  kind               text not null check (kind in ('infrastructure', 'user')),
  text               text not null,
  -- What the user wrote, where a retry replaced it by `dbt retry`.
  original_text      text not null,
  -- A retry: the command of the old run whose target folder is put back before this one starts.
  state_from         integer,
  continue_on_error  boolean not null,
  state              text not null default 'waiting'
                     check (state in ('waiting', 'running', 'succeeded', 'failed', 'stopped', 'not_run')),
  started_at         timestamptz,
  ended_at           timestamptz,
  return_code        integer,
  -- Bytes of each stream that are readable, and whether the log is complete.
  stdout_bytes       bigint not null default 0,
  stderr_bytes       bigint not null default 0,
  log_finished       boolean not null default false,
  -- The partition of log_chunk that holds the output, whole: reading never looks at another.
  log_day            date,
  unique (run_id, position),
  foreign key (workspace_id, run_id) references run (workspace_id, id)
);

-- Output as it was written, redacted, in chunks by byte offset. A chunk is cut between lines where it can be.
create table log_chunk (
  day         date not null,
  command_id  integer not null,
  stream      smallint not null check (stream in (1, 2)),
  start       bigint not null,
  length      integer not null,
  bytes       bytea not null,
  primary key (day, command_id, stream, start)
) partition by range (day);
-- As it is: compressing took eight times as long as all the rest of an insert (46 of 52 ms of processor time per MiB), and
-- a loud command would wait for it.
alter table log_chunk alter column bytes set storage external;
create table log_chunk_default partition of log_chunk default;

-- The service's role owns no table, so these two run with the rights of the owner. They take dates and numbers only.
--
-- Two nodes at once: one makes the table, the other finds it there. A day of which the default partition holds rows
-- already stays in the default partition.
create function log_chunk_make_days(first date, count integer) returns integer
language plpgsql security definer set search_path = yardmaster, pg_temp set lock_timeout = '3s' as $$
declare
  one date;
  name text;
  made integer := 0;
begin
  for one in select first + n from generate_series(0, least(count, 400) - 1) as n loop
    name := 'log_chunk_' || to_char(one, 'YYYYMMDD');
    continue when to_regclass(name) is not null;
    begin
      -- Attaching locks the default partition for a moment; creating it as a partition would lock all of them.
      execute format('create table %I (like log_chunk including all)', name);
      execute format('alter table log_chunk attach partition %I for values from (%L) to (%L)', name, one, one + 1);
      execute format('grant select, insert, update, delete on %I to %I', name, session_user);
      made := made + 1;
    exception when duplicate_table or duplicate_object or unique_violation or check_violation then null;
    end;
  end loop;
  return made;
end $$;

-- What is kept of a day goes into a new partition first; only then are the two exchanged, so that nobody waits for the
-- copying. Nothing writes to a day that is old enough to go, but for commands that are kept.
create function log_chunk_drop_days(before date, keep integer[]) returns integer
language plpgsql security definer set search_path = yardmaster, pg_temp set lock_timeout = '3s' as $$
declare
  name text;
  one date;
  has_rows boolean;
  dropped integer := 0;
begin
  for name, one in
    select c.relname, to_date(right(c.relname, 8), 'YYYYMMDD')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'log_chunk'::regclass and c.relname ~ '^log_chunk_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < before
    order by 1
  loop
    execute format('select exists (select from %I where command_id <> all ($1))', name) into has_rows using keep;
    if not has_rows then
      execute format('select exists (select from %I)', name) into has_rows;
      continue when has_rows;
    end if;
    execute format('create table %I (like log_chunk including all)', name || '_kept');
    execute format('insert into %I select * from %I where command_id = any ($1)', name || '_kept', name) using keep;
    execute format('select exists (select from %I)', name || '_kept') into has_rows;
    execute format('alter table log_chunk detach partition %I', name);
    execute format('drop table %I', name);
    if has_rows then
      execute format('alter table %I rename to %I', name || '_kept', name);
      execute format('alter table log_chunk attach partition %I for values from (%L) to (%L)', name, one, one + 1);
      execute format('grant select, insert, update, delete on %I to %I', name, session_user);
    else
      execute format('drop table %I', name || '_kept');
    end if;
    dropped := dropped + 1;
  end loop;
  delete from log_chunk_default where day < before and command_id <> all (keep);
  return dropped;
end $$;

create table artifact (
  id            integer generated always as identity primary key,
  workspace_id  integer not null,
  run_id        integer not null,
  command_id    integer not null references command,
  path          text not null,
  size          bigint not null,
  sha256        bytea not null check (length(sha256) = 32),
  -- False for what the environment excludes and a retry needs: it is kept and shown to nobody.
  listed        boolean not null default true,
  created_at    timestamptz not null default clock_timestamp(),
  removed_at    timestamptz,
  unique (command_id, path),
  foreign key (workspace_id, run_id) references run (workspace_id, id)
);
create index artifact_run on artifact (run_id);
create index artifact_age on artifact (created_at) where removed_at is null;
create index artifact_removed on artifact (removed_at) where removed_at is not null;
create index artifact_blob on artifact (workspace_id, sha256);

-- dbt's own results, read out of run_results.json, sources.json and manifest.json.
create table dbt_result (
  workspace_id  integer not null,
  run_id        integer not null,
  command_id    integer not null references command,
  unique_id     text not null,
  status        text not null,
  message       text not null,
  started_at    timestamptz,
  seconds       double precision,
  failures      integer,
  -- From the manifest, where there was one.
  resource_type text not null default '',
  name          text not null default '',
  path          text not null default '',
  relation      text not null default '',
  primary key (command_id, unique_id),
  foreign key (workspace_id, run_id) references run (workspace_id, id)
);
create index dbt_result_run on dbt_result (run_id);
