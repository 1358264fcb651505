import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkQuery } from './agent-sql.ts'

const TAKEN = [
  'select 1',
  'SELECT * FROM orders;',
  "select * from {{ ref('orders') }} where state = 'it''s; -- no comment'",
  'select a, count(*) from {{ source("shop", "orders") }} group by 1 order by 2 desc',
  "with recent as (select * from {{ ref('shop', 'orders') }}) select replace(name, 'a', 'b') from recent",
  'select o.update, "delete", comment from orders o',
  'select case when x then 1 else 2 end from (select true as x) as t',
]

const REFUSED = [
  '',
  'drop table orders',
  'select 1; drop table orders',
  'select 1;;select 2',
  'select 1 -- ; and more',
  'select /* x */ 1',
  'select 1 # more',
  "select '\\'; drop table orders; --'",
  'select $$ x $$',
  "select 'never ends",
  'with gone as (delete from orders returning *) select * from gone',
  'with gone as (INSERT into orders values (1) returning *) select * from gone',
  'select * into copy_of_orders from orders',
  "{{ run_query('drop table orders') }}",
  "select {{ env_var('DBT_PASSWORD') }}",
  "select '{{ env_var('DBT_PASSWORD') }}'",
  "select {% set x = run_query('drop table orders') %} 1",
  'select {# hidden #} 1',
  "select * from {{ ref('orders') | safe }}",
  "select * from {{ ref(env_var('X')) }}",
  "select * from '/etc/passwd'",
  "select * from read_text('/etc/passwd')",
  'select * from "read_text"(\'/etc/passwd\')',
  "select pg_read_file('/etc/passwd')",
  "select getenv('HOME')",
  "select * from query('drop table orders')",
  "select pg_catalog.pg_read_file('/etc/passwd')",
  "select * from dblink('host=evil', 'select 1')",
  'select pg_sleep(1000)',
  "attach 'x.db' as x",
  'pragma database_list',
  'install httpfs',
  'explain select 1',
  'values (1)',
  'call system.do()',
  `select ${'x'.repeat(20_001)}`,
]

for (const query of TAKEN) {
  test(`taken: ${query}`, () => {
    assert.deepEqual(checkQuery(query), { sql: query.replace(/;$/, '') })
  })
}

for (const query of REFUSED) {
  test(`refused: ${query.slice(0, 80)}`, () => {
    assert.ok('refused' in checkQuery(query), JSON.stringify(checkQuery(query)))
  })
}
