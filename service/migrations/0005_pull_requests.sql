-- Pull requests (merge requests at GitLab) of the repositories that a workspace works with, as far as somebody told of
-- them: an inbound hook, or a look at the host.
create table pull_request (
  id              integer generated always as identity primary key,
  workspace_id    integer not null references workspace,
  provider        text not null check (provider in ('github', 'gitlab')),
  -- Host and path, the same for every form of address.
  repository      text not null,
  number          integer not null,
  title           text not null,
  url             text not null,
  author          text not null,
  head_commit     text not null,
  head_branch     text not null,
  base_branch     text not null,
  is_fork         boolean not null,
  state           text not null check (state in ('open', 'closed', 'merged')),
  -- Of a fork: the commit that a member let run, and who.
  allowed_commit  text not null default '',
  allowed_by      text not null default '',
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  unique (workspace_id, repository, number)
);
create index pull_request_list on pull_request (workspace_id, updated_at desc);

-- Inbound hooks that were taken: the same one a second time is a replay.
create table git_hook (
  workspace_id  integer not null references workspace,
  provider      text not null,
  id            text not null,
  received_at   timestamptz not null default clock_timestamp(),
  primary key (workspace_id, provider, id)
);
create index git_hook_age on git_hook (received_at);

-- A run of a pull request takes exactly the commit that was pushed, whatever its branch has come to since.
alter table run add column wanted_commit text;
