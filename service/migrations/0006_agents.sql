-- Agents: sessions, the journal of each, and what a workspace lets them do. Everything that is shown of a session (messages,
-- steps, children, usage) is read from its journal.

create table agent_session (
  id                 text primary key check (id ~ '^[a-z0-9]{16}$'),
  workspace_id       integer not null references workspace,
  environment_id     integer not null,
  agent              text not null,
  -- As it was read at the trigger, with the commit; a later change of the file changes no session that is going.
  definition         jsonb not null,
  definition_commit  text not null default '',
  base_branch        text not null,
  -- Known from the first checkout on; every later one begins there.
  base_commit        text not null default '',
  model_family       text not null,
  status             text not null default 'queued' check (status in
                     ('queued', 'running', 'completed', 'failed', 'stopped', 'expired')),
  -- Why it is as it is, in a sentence; empty where nothing needs to be said.
  reason             text not null default '',
  turn               integer not null default 1,
  parent_id          text references agent_session,
  -- The call of the parent that it answers.
  parent_call        text,
  root_id            text not null references agent_session deferrable initially deferred,
  depth              integer not null default 0,
  -- Whose rights its tools have: a person, a key, or the service itself (self-healing). Looked up again at each use.
  actor              jsonb not null,
  slack_channel      text not null default '',
  slack_thread_ts    text not null default '',
  healing_request_id integer,
  created_at         timestamptz not null default clock_timestamp(),
  -- Of the present turn.
  queued_at          timestamptz not null default clock_timestamp(),
  started_at         timestamptz,
  ended_at           timestamptz,
  -- Of either side: the session can be written to for a day after it.
  last_message_at    timestamptz not null default clock_timestamp(),
  -- Of the present turn.
  steps              integer not null default 0,
  -- Of the whole session.
  tokens_in          bigint not null default 0,
  tokens_out         bigint not null default 0,
  cost_microdollars  bigint not null default 0,
  budget             jsonb not null,
  branch             text not null default '',
  pull_request       text not null default '',
  -- What its checkout holds beyond the base commit: a git bundle in the blob store; empty where nothing was changed.
  tree_key           text not null default '',
  -- Taken by compare-and-set, held by a lease; every write of whoever holds it names the attempt.
  attempt            integer not null default 0,
  worker_id          text,
  lease_until        timestamptz,
  stop_requested_at  timestamptz,
  -- Running, in no process: it is taken again when a child has ended.
  waits_for_child    boolean not null default false,
  -- Of the journal. Both move in the statement that writes to it, so that no two records get the same.
  last_seq           integer not null default 0,
  last_ts            bigint not null default 0,
  -- How often a worker was lost while this was the last record of the journal.
  lost_at_seq        integer not null default 0,
  lost_count         integer not null default 0,
  unique (workspace_id, id),
  foreign key (workspace_id, environment_id) references environment (workspace_id, id),
  check ((status in ('queued', 'running')) = (ended_at is null)),
  check ((worker_id is null) = (lease_until is null)),
  check (worker_id is null or status = 'running'),
  check (not waits_for_child or (status = 'running' and worker_id is null))
);
create index agent_session_list on agent_session (workspace_id, created_at desc, id);
create index agent_session_waiting on agent_session (queued_at) where status = 'queued';
create index agent_session_going on agent_session (id) where status = 'running';
create index agent_session_children on agent_session (parent_id) where parent_id is not null;
create index agent_session_root on agent_session (root_id);
create unique index agent_session_call on agent_session (parent_id, parent_call) where parent_call is not null;
create unique index agent_session_healing on agent_session (healing_request_id) where healing_request_id is not null;
create index agent_session_thread on agent_session (workspace_id, slack_channel, slack_thread_ts)
  where slack_thread_ts <> '';

-- The journal of a session, append-only.
create table agent_event (
  session_id    text not null,
  workspace_id  integer not null,
  seq           integer not null,
  -- Microseconds of the epoch, increasing within the session.
  ts            bigint not null,
  turn          integer not null,
  kind          text not null check (kind in ('user_message', 'assistant', 'tool_start', 'tool_end', 'status',
                'child_started', 'child_result', 'compaction', 'budget', 'note')),
  body          jsonb not null,
  primary key (session_id, seq),
  unique (session_id, ts),
  foreign key (workspace_id, session_id) references agent_session (workspace_id, id)
);
-- A call begins once and ends once.
create unique index agent_event_call on agent_event (session_id, kind, (body ->> 'call'))
  where kind in ('tool_start', 'tool_end', 'child_started', 'child_result');

-- The whole result of a call whose shown one was shortened.
create table agent_output (
  workspace_id  integer not null,
  session_id    text not null,
  call          text not null,
  text          text not null,
  primary key (session_id, call),
  foreign key (workspace_id, session_id) references agent_session (workspace_id, id)
);

-- Which model stands behind a family's name. The key of the provider is sealed.
create table model_family (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  name          text not null,
  provider      text not null check (provider in ('anthropic', 'openai', 'google', 'bedrock', 'openai_compatible')),
  model         text not null,
  is_default    boolean not null default false,
  -- What is not secret: an address, a region, prices of a million tokens, limits of the model.
  settings      jsonb not null default '{}',
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  unique (workspace_id, id),
  unique (workspace_id, name)
);
create unique index model_family_default on model_family (workspace_id) where is_default;

create table model_family_secret (
  workspace_id  integer not null,
  family_id     integer not null,
  name          text not null,
  kid           text not null,
  wrapped_key   bytea not null,
  sealed        bytea not null,
  primary key (family_id, name),
  foreign key (workspace_id, family_id) references model_family (workspace_id, id) on delete cascade
);

-- What an administrator lets the agents of a workspace do. No row: the defaults of domain/agent-policy.ts.
create table agent_policy (
  workspace_id  integer primary key references workspace,
  -- Null: every tool. Otherwise these alone, whatever a file says.
  tools         text[],
  -- Hosts that the shell's sandbox reaches, through the proxy; empty: none.
  egress_hosts  text[] not null default '{}',
  budget        jsonb not null default '{}',
  commit_name   text not null default '',
  commit_email  text not null default '',
  updated_at    timestamptz not null default clock_timestamp()
);

-- Servers of the Model Context Protocol whose tools agents may be given. Headers are sealed.
create table mcp_server (
  id            integer generated always as identity primary key,
  workspace_id  integer not null references workspace,
  name          text not null,
  url           text not null,
  -- Null: every tool that it offers.
  tools         text[],
  created_at    timestamptz not null default clock_timestamp(),
  unique (workspace_id, id),
  unique (workspace_id, name)
);

create table mcp_server_secret (
  workspace_id  integer not null,
  server_id     integer not null,
  name          text not null,
  kid           text not null,
  wrapped_key   bytea not null,
  sealed        bytea not null,
  primary key (server_id, name),
  foreign key (workspace_id, server_id) references mcp_server (workspace_id, id) on delete cascade
);

-- What came of a request for healing: the branch that was pushed, and the pull request where one was opened.
alter table healing_request add column branch text not null default '';
alter table healing_request add column pull_request text not null default '';
alter table healing_request add column proposed_at timestamptz;
-- Those of before were proposed by nobody that could be asked again.
update healing_request set proposed_at = created_at where state = 'proposed';
alter table healing_request add check (state <> 'proposed' or proposed_at is not null);
create index healing_of_session on healing_request (workspace_id, session) where state = 'proposed';
create index healing_list on healing_request (workspace_id, id);
