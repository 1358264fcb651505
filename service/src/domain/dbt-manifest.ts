// What dbt's manifest.json says about its nodes: what a result is a result of. Like the results, it is written by somebody
// else's program in several versions, and what is not understood is left out.
import { clean, field, readJson } from './foreign-json.ts'

export interface DbtDescription {
  readonly uniqueId: string
  /** model, test, seed, snapshot, source, … */
  readonly resourceType: string
  readonly name: string
  /** Of its file, relative to the project. */
  readonly path: string
  /** The table or view, as dbt writes it; empty for what has none. */
  readonly relation: string
}

const MOST_NODES = 100_000
const LONGEST = 500

export function parseDbtManifest(text: string): DbtDescription[] {
  const file = readJson(text)
  const found: DbtDescription[] = []
  for (const kind of ['nodes', 'sources', 'exposures', 'unit_tests'] as const) {
    const nodes = field(file, kind)
    if (typeof nodes !== 'object' || nodes === null) continue
    for (const node of Object.values(nodes)) {
      if (found.length === MOST_NODES) return found
      const uniqueId = clean(field(node, 'unique_id'), LONGEST)
      if (uniqueId === '') continue
      found.push({
        uniqueId,
        resourceType: clean(field(node, 'resource_type'), LONGEST),
        name: clean(field(node, 'name'), LONGEST),
        path: clean(field(node, 'original_file_path'), LONGEST),
        relation: clean(field(node, 'relation_name'), LONGEST),
      })
    }
  }
  return found
}
