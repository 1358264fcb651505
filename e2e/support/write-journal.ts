/**
 * A journal that the database itself keeps, in the transaction of each write: which node changed which row of a run, in
 * which order, and what the run was then. It sees what a look from time to time would miss.
 */
import type pg from 'pg'

const FINAL = `('succeeded', 'errored', 'failed', 'canceled', 'skipped')`

// Nodes are told apart by the application name in their database address.
const SCHEMA = `
create schema journal;
create table journal.entry (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  transaction bigint not null default txid_current(),
  node text not null default current_setting('application_name'),
  relation text not null,
  run_id integer,
  command_id integer,
  was text not null default '',
  became text not null default ''
);
create function journal.note_run() returns trigger language plpgsql security definer set search_path = journal as $$
begin
  if tg_op = 'INSERT' then
    insert into entry (relation, run_id, became) values ('run', new.id, new.state);
  elsif new is distinct from old and (old.state <> new.state or old.state in ${FINAL}) then
    insert into entry (relation, run_id, was, became) values ('run', new.id, old.state, new.state);
  end if;
  return null;
end $$;
create function journal.note_command() returns trigger language plpgsql security definer set search_path = journal as $$
begin
  if new is distinct from old then
    insert into entry (relation, run_id, command_id, was, became)
    values ('command', new.run_id, new.id, old.state, new.state);
  end if;
  return null;
end $$;
create function journal.note_part() returns trigger language plpgsql security definer set search_path = journal as $$
begin
  insert into entry (relation, command_id, became) values (tg_argv[0], new.command_id, 'added');
  return null;
end $$;
create trigger journal after insert or update on yardmaster.run for each row execute function journal.note_run();
create trigger journal after update on yardmaster.command for each row execute function journal.note_command();
create trigger journal after insert on yardmaster.log_chunk for each row execute function journal.note_part('log_chunk');
create trigger journal after insert or update on yardmaster.artifact
  for each row execute function journal.note_part('artifact');
create trigger journal after insert or update on yardmaster.dbt_result
  for each row execute function journal.note_part('dbt_result');
`

export interface Ended {
  readonly id: number
  readonly state: string
  readonly detail: string
  readonly workerId: string
  /** Milliseconds since 1970, by the database's clock. */
  readonly endedAt: number
  readonly leaseUntil: number
}

export interface WriteJournal {
  /** Changes of a run, or of anything of it, after the transaction that ended it. */
  staleWrites(): Promise<readonly string[]>
  /** Runs that were ended more than once. */
  endedTwice(): Promise<number>
  /** How many rows of due times each node made. */
  firedBy(): Promise<ReadonlyMap<string, number>>
  /** When each node took runs, in milliseconds since 1970. */
  claims(): Promise<readonly { readonly node: string; readonly at: number }[]>
}

/** The client is a superuser's; it may be another after the database was away. */
export async function keepJournal(client: () => pg.Client): Promise<WriteJournal> {
  await client().query(SCHEMA)
  const ends = `select run_id, min(id) as id, (array_agg(transaction order by id))[1] as transaction
    from journal.entry where relation = 'run' and became in ${FINAL} and was not in ${FINAL} group by run_id`
  const rowsOf = async <T extends pg.QueryResultRow>(text: string): Promise<T[]> => (await client().query<T>(text)).rows
  return {
    staleWrites: async () => {
      const rows = await rowsOf<{ what: string }>(
        `with ends as materialized (${ends}), entries as materialized (
           select e.*, coalesce(e.run_id, c.run_id) as of_run
           from journal.entry e left join yardmaster.command c on c.id = e.command_id),
         closings as materialized (
           select transaction, command_id, max(id) as id from journal.entry where relation = 'command' group by 1, 2)
         select format('%s of run %s by %s, %s to %s, at %s', e.relation, e.of_run, e.node, e.was, e.became, e.at) as what
         from entries e join ends on ends.run_id = e.of_run
         -- The end changes the run first and then its commands: until it came to a command, output could be added.
         left join closings on closings.transaction = ends.transaction and closings.command_id = e.command_id
           and e.relation <> 'artifact'
         where e.transaction <> ends.transaction and e.id > coalesce(closings.id, ends.id)
         order by e.id`,
      )
      return rows.map(({ what }) => what)
    },
    endedTwice: async () => {
      const rows = await rowsOf<{ count: number }>(
        `select count(*)::int as count from (
           select 1 from journal.entry where relation = 'run' and was <> '' and became in ${FINAL}
           group by run_id having count(*) > 1) as twice`,
      )
      return rows[0]!.count
    },
    firedBy: async () => {
      const rows = await rowsOf<{ node: string; count: number }>(
        `select e.node, count(*)::int as count from journal.entry e join yardmaster.run r on r.id = e.run_id
         where e.relation = 'run' and e.was = '' and r.due_at is not null group by e.node`,
      )
      return new Map(rows.map(({ node, count }) => [node, count]))
    },
    claims: async () =>
      await rowsOf<{ node: string; at: number }>(
        `select node, extract(epoch from at)::float8 * 1000 as at from journal.entry
         where relation = 'run' and was = 'waiting' and became = 'starting' order by id`,
      ),
  }
}

/** Every run that has ended and is no skip, without those of the demo, of which one fails on purpose. */
export async function listEnded(client: pg.Client): Promise<Ended[]> {
  const { rows } = await client.query<Ended>(
    `select id, state, detail, coalesce(worker_id, '') as "workerId",
       extract(epoch from ended_at)::float8 * 1000 as "endedAt",
       coalesce(extract(epoch from lease_until), 0)::float8 * 1000 as "leaseUntil"
     from yardmaster.run where state in ${FINAL} and state <> 'skipped' and reason not like '%first start%' order by id`,
  )
  return rows
}

/** When the leases of these runs end or ended. Nobody can renew one while its worker is cut off; later it may revive. */
export async function leasesOf(client: pg.Client, runIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await client.query<{ id: number; until: number }>(
    `select id, extract(epoch from lease_until)::float8 * 1000 as until from yardmaster.run where id = any ($1)`,
    [[...runIds]],
  )
  return new Map(rows.map(({ id, until }) => [id, until]))
}
