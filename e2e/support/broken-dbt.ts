// A small dbt project that builds, and ten ways to break it: eight that can be mended from what dbt says and what stands in
// the repository, two that only a person can decide about.

export const DBT_PACKAGES = ['dbt-core==1.9.4', 'dbt-duckdb==1.9.3']

export const DBT_PROFILE = `shop:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: warehouse.duckdb
`

export const SHOP: Readonly<Record<string, string>> = {
  'dbt_project.yml': `name: shop
version: "1.0"
profile: shop
flags:
  send_anonymous_usage_stats: false
models:
  shop:
    +materialized: table
`,
  '.gitignore': 'target/\nlogs/\ndbt_packages/\n*.duckdb\n*.duckdb.wal\n',
  'data/payments.csv': 'payment_id,order_id,method\n1,1,card\n2,2,card\n3,3,bank\n4,4,card\n',
  'seeds/raw_customers.csv': 'customer_id,customer_name\n1,Ana\n2,Ben\n3,Cem\n',
  'seeds/raw_orders.csv':
    'order_id,customer_id,amount,status\n1,1,10,placed\n2,1,20,shipped\n3,2,5,returned\n4,3,8,placed\n',
  'macros/cents.sql': '{% macro to_cents(column) %}({{ column }} * 100)::integer{% endmacro %}\n',
  'models/sources.yml': `version: 2

sources:
  - name: files
    meta:
      external_location: "read_csv_auto('data/{name}.csv')"
    tables:
      - name: payments
`,
  'models/stg_customers.sql': `select
    customer_id,
    customer_name
from {{ ref('raw_customers') }}
`,
  'models/stg_orders.sql': `select
    order_id,
    customer_id,
    amount,
    {{ to_cents('amount') }} as amount_cents,
    status
from {{ ref('raw_orders') }}
`,
  'models/stg_payments.sql': `select
    payment_id,
    order_id,
    method
from {{ source('files', 'payments') }}
`,
  'models/customer_orders.sql': `with orders as (
    select * from {{ ref('stg_orders') }}
),

customers as (
    select * from {{ ref('stg_customers') }}
)

select
    customers.customer_id,
    customers.customer_name,
    count(orders.order_id) as order_count,
    coalesce(sum(orders.amount), 0) as total_amount
from customers
left join orders on orders.customer_id = customers.customer_id
group by 1, 2
`,
  'models/schema.yml': `version: 2

models:
  - name: stg_customers
    columns:
      - name: customer_id
        tests: [unique, not_null]
  - name: stg_orders
    columns:
      - name: order_id
        tests: [unique, not_null]
      - name: status
        tests:
          - accepted_values:
              values: ['placed', 'shipped', 'returned']
      - name: customer_id
        tests:
          - relationships:
              to: ref('stg_customers')
              field: customer_id
  - name: customer_orders
    columns:
      - name: customer_id
        tests: [unique]
`,
}

export interface Fault {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** Whether rules can mend it without deciding anything that is a person's to decide. */
  readonly mendable: boolean
}

const fault = (name: string, file: string, from: string, to: string, mendable = true): Fault => ({
  name,
  file,
  from,
  to,
  mendable,
})

export const FAULTS: readonly Fault[] = [
  fault('a model is misspelt in ref', 'models/customer_orders.sql', "ref('stg_orders')", "ref('stg_ordres')"),
  fault('a table is misspelt in source', 'models/stg_payments.sql', "'files', 'payments'", "'files', 'paymnts'"),
  fault('a column is misspelt', 'models/stg_payments.sql', '    method\n', '    methd\n'),
  fault('a macro is misspelt', 'models/stg_orders.sql', "to_cents('amount')", "to_cent('amount')"),
  fault('a comma is missing', 'models/customer_orders.sql', 'as order_count,', 'as order_count'),
  fault('a parenthesis is missing', 'models/customer_orders.sql', 'sum(orders.amount), 0)', 'sum(orders.amount), 0'),
  fault('a test names a column that is misspelt', 'models/schema.yml', '- name: order_id\n', '- name: order_idd\n'),
  fault('an accepted value is misspelt', 'models/schema.yml', "'returned']", "'retruned']"),
  fault('a key is there twice in the data', 'seeds/raw_orders.csv', '4,3,8,placed', '3,3,8,placed', false),
  fault(
    'a text is cast to a number',
    'models/stg_customers.sql',
    '    customer_name\n',
    '    customer_name::integer as customer_name\n',
    false,
  ),
]

/** The project with this one fault. */
export function broken(one: Fault): Readonly<Record<string, string>> {
  const before = SHOP[one.file]!
  if (before.split(one.from).length !== 2) throw new Error(`${one.name}: what it replaces is not there exactly once`)
  return { ...SHOP, [one.file]: before.replace(one.from, one.to) }
}
