import assert from 'node:assert/strict'
import { test } from 'node:test'
import { broken, FAULTS, SHOP } from '../../../../../e2e/support/broken-dbt.ts'
import { readFaults } from './dbt-faults.ts'
import { mendOf } from './dbt-mends.ts'

// What dbt 1.9 with DuckDB said about each of the faults of e2e/support/broken-dbt.ts, as it came.
const SAID: Readonly<Record<string, string>> = {
  'a model is misspelt in ref': `09:08:55  Encountered an error:
Compilation Error
  Model 'model.shop.customer_orders' (models/customer_orders.sql) depends on a node named 'stg_ordres' which was not found
`,
  'a table is misspelt in source': `09:09:15  Encountered an error:
Compilation Error
  Model 'model.shop.stg_payments' (models/stg_payments.sql) depends on a source named 'files.paymnts' which was not found
`,
  'a column is misspelt': `09:09:39  Completed with 1 error, 0 partial successes, and 0 warnings:
09:09:39  
09:09:39    Runtime Error in model stg_payments (models/stg_payments.sql)
  Binder Error: Referenced column "methd" not found in FROM clause!
  Candidate bindings: "method", "payment_id"
09:09:39  
09:09:39  Done. PASS=12 WARN=0 ERROR=1 SKIP=0 TOTAL=13
`,
  'a macro is misspelt': `09:10:04    Compilation Error in model stg_orders (models/stg_orders.sql)
  'to_cent' is undefined. This can happen when calling a macro that does not exist. Check for typos and/or install package dependencies with "dbt deps".
09:10:04  
`,
  'a comma is missing': `09:10:21    Runtime Error in model customer_orders (models/customer_orders.sql)
  Parser Error: syntax error at or near "coalesce"
  
  LINE 23:     coalesce(sum(orders.amount), 0) as total_amount
               ^^^^^^^^
09:10:21  
`,
  'a parenthesis is missing': `09:10:40    Runtime Error in model customer_orders (models/customer_orders.sql)
  Parser Error: syntax error at or near "as"
  
  LINE 23:     coalesce(sum(orders.amount), 0 as total_amount
                                              ^^
09:10:40  
`,
  'a test names a column that is misspelt': `09:19:01    Runtime Error in test not_null_stg_orders_order_idd (models/schema.yml)
  Binder Error: Referenced column "order_idd" not found in FROM clause!
  Candidate bindings: "order_id", "customer_id"
09:19:01  
09:19:01    Runtime Error in test unique_stg_orders_order_idd (models/schema.yml)
  Binder Error: Referenced column "order_idd" not found in FROM clause!
  Candidate bindings: "order_id", "customer_id"
09:19:01  
`,
  'an accepted value is misspelt': `09:11:19  Failure in test accepted_values_stg_orders_status__placed__shipped__retruned (models/schema.yml)
09:11:19    Got 1 result, configured to fail if != 0
`,
  'a key is there twice in the data': `09:11:43  Failure in test unique_stg_orders_order_id (models/schema.yml)
09:11:43    Got 1 result, configured to fail if != 0
`,
  'a text is cast to a number': `09:12:08    Runtime Error in model stg_customers (models/stg_customers.sql)
  Conversion Error: Could not convert string 'Ana' to INT32 when casting from source column customer_name
09:12:08  
`,
}

const mendsOf = (said: string, files: Readonly<Record<string, string>>) =>
  readFaults(said).map((fault) => mendOf(fault, { files: new Map(Object.entries(files)) }))

for (const fault of FAULTS) {
  test(`${fault.name}: ${fault.mendable ? 'is mended' : 'is left to a person'}`, () => {
    const mends = mendsOf(SAID[fault.name]!, broken(fault))
    assert.ok(mends.length > 0, 'nothing was read from what dbt said')
    if (!fault.mendable)
      assert.deepEqual(
        mends,
        mends.map(() => null),
      )
    // The text as it was, and nothing else.
    else for (const mend of mends) assert.deepEqual([mend?.file, mend?.after], [fault.file, SHOP[fault.file]])
  })
}

test('a fault that is not in the file any more, or in a file that is not there, is not mended', () => {
  assert.deepEqual(mendsOf(SAID['a model is misspelt in ref']!, SHOP), [null])
  assert.deepEqual(mendsOf(SAID['a model is misspelt in ref']!.replaceAll('customer_orders.sql', 'gone.sql'), SHOP), [
    null,
  ])
})

test('nothing is guessed: a name that is like no other, a new value in the data, two columns of one name in a file', () => {
  const unlike = SAID['a model is misspelt in ref']!.replaceAll('stg_ordres', 'weather')
  const files = { ...SHOP, 'models/customer_orders.sql': "select * from {{ ref('weather') }}\n" }
  assert.deepEqual(mendsOf(unlike, files), [null])
  const returned = { ...SHOP, 'seeds/raw_orders.csv': `${SHOP['seeds/raw_orders.csv']}5,1,3,lost\n` }
  const test = SAID['an accepted value is misspelt']!.replaceAll('retruned', 'returned')
  assert.deepEqual(mendsOf(test, returned), [null])
  const twice = SHOP['models/schema.yml']!.replaceAll('name: customer_id', 'name: customer_idd')
  const column = SAID['a test names a column that is misspelt']!.replaceAll('order_idd', 'customer_idd')
  assert.deepEqual(new Set(mendsOf(column, { ...SHOP, 'models/schema.yml': twice })), new Set([null]))
})

test('colours are passed over, and a warning about a missing model is no fault', () => {
  const coloured = SAID['a column is misspelt']!.replace('Runtime Error', '\u001b[33mRuntime Error').replace(
    'sql)\n',
    'sql)\u001b[0m\n',
  )
  assert.equal(readFaults(coloured)[0]!.kind, 'column')
  const warning = `09:10:53  [WARNING]: Test 'test.shop.relationships_x.a8' (models/schema.yml) depends on a node named 'stg_custmers' in package '' which was not found\n`
  assert.deepEqual(readFaults(warning), [])
})

test('what is no rule’s is told in its own words', () => {
  const [fault] = readFaults(SAID['a text is cast to a number']!)
  assert.deepEqual([fault!.kind, fault!.node], ['other', 'stg_customers'])
  assert.match(fault!.said, /^Conversion Error: Could not convert string 'Ana'/)
})
