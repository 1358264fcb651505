// A profile of dbt with every DuckDB file opened for reading alone. Other warehouses have roles for that; DuckDB has none.
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'

/** Null where nothing is to be changed: no DuckDB in it, or no YAML that we can read. */
export function readOnlyProfile(text: string): string | null {
  const document = parseDocument(text, { logLevel: 'silent' })
  if (document.errors.length > 0 || !isMap(document.contents)) return null
  let changed = 0
  for (const profile of document.contents.items) {
    const outputs = isMap(profile.value) ? profile.value.get('outputs') : null
    if (!isMap(outputs)) continue
    for (const { value: output } of outputs.items) if (isMap(output) && isFile(output)) changed += closed(output)
  }
  return changed === 0 ? null : document.toString()
}

/** A database in memory must be made, and holds nothing that could be harmed. */
function isFile(output: YAMLMap): boolean {
  const path = output.get('path')
  return output.get('type') === 'duckdb' && typeof path === 'string' && path !== ':memory:' && !path.startsWith('md:')
}

function closed(output: YAMLMap): number {
  const options = output.get('config_options')
  if (isMap(options)) options.set('access_mode', 'READ_ONLY')
  else if (options === undefined || (isScalar(options) && options.value === null)) {
    output.set('config_options', { access_mode: 'READ_ONLY' })
  } else return 0
  return 1
}
