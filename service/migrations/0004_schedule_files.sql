-- What became of the files that hold a workspace's schedules, when they were last looked at.
create table schedule_sync (
  workspace_id    integer primary key references workspace,
  repository_url  text not null,
  branch          text not null,
  -- The commit that the schedules stand at, and when the git host was known to have it. Empty and null before the first.
  commit_hash     text not null default '',
  fetched_at      timestamptz,
  -- When the schedules were last brought in line with that commit, and when somebody last looked.
  synced_at       timestamptz,
  checked_at      timestamptz not null,
  -- Why nothing could be read, or why what was read may be old; empty when all is well.
  warning         text not null default '',
  -- What else decides what a sync does: names of files, the reader's version. The same again with the same commit: no work.
  settings        text not null default '',
  -- [{ "path": text, "schedules": number, "ok": boolean }]
  files           jsonb not null default '[]',
  -- [{ "severity": "fault" or "warning", "file": text, "place": { "line": number, "column": number } or null, "message": text }]
  findings        jsonb not null default '[]'
);
