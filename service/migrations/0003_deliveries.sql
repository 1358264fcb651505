-- What leaves the service because of a run: events of runs, what is sent for them, to whom, and what became of each try.

-- When a run that is still going is late: from its acceptance, by the schedule's words of that moment. Null when there is
-- no deadline, and once its lateness was told.
alter table run add column late_at timestamptz;
create index run_late on run (late_at)
  where late_at is not null and state in ('waiting', 'starting', 'running', 'ending');
-- The children of a run, for whoever asks what a run led to.
create index run_parent on run (parent_run_id) where parent_run_id is not null;

-- Accounts at other services that a workspace uses. Secrets of one are in integration_secret.
create table integration (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  kind          text not null check (kind in
                ('slack', 'teams', 'pagerduty', 'incident_io', 'datadog', 'new_relic', 'github', 'gitlab')),
  -- Teams: the channel as schedules name it. The others have one per workspace, with an empty name.
  name          text not null default '',
  -- What is not secret, such as the address of a self-hosted GitLab or the site of a Datadog account.
  settings      jsonb not null default '{}',
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  removed_at    timestamptz,
  unique (workspace_id, id)
);
create unique index integration_name on integration (workspace_id, kind, lower(name)) where removed_at is null;

create table integration_secret (
  workspace_id    integer not null,
  integration_id  integer not null,
  name            text not null,
  kid             text not null,
  wrapped_key     bytea not null,
  sealed          bytea not null,
  primary key (integration_id, name),
  foreign key (workspace_id, integration_id) references integration (workspace_id, id)
);

create table webhook (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  url           text not null,
  description   text not null default '',
  events        text[] not null,
  enabled       boolean not null default true,
  created_at    timestamptz not null default clock_timestamp(),
  removed_at    timestamptz,
  unique (workspace_id, id)
);

-- While a secret is being exchanged there are two: each delivery is signed with both.
create table webhook_secret (
  id            integer generated always as identity primary key,
  workspace_id  integer not null,
  webhook_id    integer not null,
  kid           text not null,
  wrapped_key   bytea not null,
  sealed        bytea not null,
  created_at    timestamptz not null default clock_timestamp(),
  retires_at    timestamptz,
  foreign key (workspace_id, webhook_id) references webhook (workspace_id, id)
);

-- Something happened to a run. Written in the transaction that made it so; whoever handles it writes what follows from
-- it (deliveries, runs of children, requests for healing) and marks it in one transaction.
create table run_event (
  id            integer generated always as identity primary key,
  workspace_id  integer not null,
  run_id        integer not null,
  kind          text not null check (kind in ('started', 'ended', 'late')),
  created_at    timestamptz not null default clock_timestamp(),
  handled_at    timestamptz,
  tries         integer not null default 0,
  -- -infinity is at once, by anybody's clock.
  next_try_at   timestamptz not null default '-infinity',
  -- Handlers that were done in an earlier try.
  done          text[] not null default '{}',
  unique (run_id, kind),
  foreign key (workspace_id, run_id) references run (workspace_id, id)
);
create index run_event_open on run_event (next_try_at) where handled_at is null;

create table delivery (
  -- The same over all tries; receivers tell a repetition by it.
  id              uuid primary key default gen_random_uuid(),
  workspace_id    integer not null references workspace,
  channel         text not null check (channel in ('webhook', 'slack', 'mail', 'teams', 'pagerduty', 'incident_io',
                  'datadog', 'new_relic', 'github', 'gitlab')),
  webhook_id      integer,
  integration_id  integer,
  -- A mail address, a Slack channel; empty where the integration says it all.
  address         text not null default '',
  event           text not null,
  -- What it is sent for, once: a second delivery with the same key is the same delivery.
  cause_key       text not null,
  run_id          integer,
  schedule_id     integer,
  -- Tried one after the other, in order of creation: an incident is opened before it is resolved.
  line            text,
  -- Who suffers when this receiver is slow: only so many deliveries of one target are under way at once.
  target          text not null,
  -- What the message says, without any secret.
  body            jsonb not null,
  state           text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
  -- Tries in all; the number of the last one that began.
  tries           integer not null default 0,
  -- Tries before the present series: sending again begins a new one.
  earlier_tries   integer not null default 0,
  -- When the first try of the present series began.
  series_at       timestamptz,
  -- Somebody is sending it until then; after that they are taken for dead.
  claimed_until   timestamptz,
  next_try_at     timestamptz not null default '-infinity',
  created_at      timestamptz not null default clock_timestamp(),
  ended_at        timestamptz,
  -- What the receiver gave back, such as the id of an incident.
  result          jsonb,
  unique (workspace_id, cause_key),
  foreign key (workspace_id, webhook_id) references webhook (workspace_id, id),
  foreign key (workspace_id, integration_id) references integration (workspace_id, id),
  check ((state = 'waiting') = (ended_at is null))
);
create index delivery_open on delivery (target, next_try_at) where state = 'waiting';
-- What an operator watches: how much waits, how much was given up.
create index delivery_unsettled on delivery (channel, state) where state in ('waiting', 'dead');
create index delivery_ended on delivery (ended_at) where ended_at is not null;
create index delivery_line on delivery (workspace_id, line, created_at) where line is not null;
create index delivery_list on delivery (workspace_id, created_at desc);
-- What was told to incident services about a schedule, by line.
create index delivery_incident on delivery (schedule_id, line, created_at desc)
  where channel in ('pagerduty', 'incident_io', 'datadog', 'new_relic');
create index delivery_run on delivery (run_id) where run_id is not null;

create table delivery_try (
  delivery_id  uuid not null references delivery on delete cascade,
  number       integer not null,
  started_at   timestamptz not null,
  duration_ms  integer not null,
  -- The status of the answer; null when there was none.
  status       integer,
  outcome      text not null check (outcome in ('delivered', 'again', 'refused')),
  -- The beginning of the answer, or why there was none.
  answer       text not null default '',
  primary key (delivery_id, number)
);

-- Somebody should mend what made a run fail. Kept whether or not there is anybody to ask.
create table healing_request (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  schedule_id   integer not null,
  run_id        integer not null,
  -- A fingerprint of what went wrong: the same cause is worked on once.
  cause         text not null,
  agent         text not null default '',
  slack_channel text not null default '',
  -- waiting: to be started. started: a session is at it. proposed: the session is over and its pull request is open.
  state         text not null default 'waiting' check (state in ('waiting', 'started', 'proposed', 'ended', 'refused')),
  -- Of the session, as whoever does the work names it.
  session       text not null default '',
  -- Why it was refused or how it ended, in a sentence.
  reason        text not null default '',
  created_at    timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  unique (workspace_id, id),
  foreign key (workspace_id, schedule_id) references schedule (workspace_id, id),
  check ((state in ('ended', 'refused')) = (ended_at is not null))
);
create unique index healing_of_run on healing_request (run_id);
create unique index healing_of_schedule on healing_request (schedule_id) where state in ('waiting', 'started');
create unique index healing_of_cause on healing_request (workspace_id, cause)
  where state in ('waiting', 'started', 'proposed');
create index healing_open on healing_request (id) where state = 'waiting';

-- The words of a workspace in place of the built-in ones, by the slug that notifications of schedules name.
create table message_template (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  slug          text not null,
  name          text not null,
  channel       text not null check (channel in ('slack', 'email', 'teams')),
  -- Of a mail; empty is the built-in one.
  subject       text not null default '',
  text          text not null,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  unique (workspace_id, slug)
);
