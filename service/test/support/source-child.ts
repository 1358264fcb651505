// A process of its own that makes one checkout, to be killed in the middle of it: options of the adapter, the repository,
// the reference and the folder as JSON.
import { gitSource } from '../../src/adapters/source/git.ts'

const { options, repository, reference, folder } = JSON.parse(process.argv[2]!)
const source = gitSource({ ...options, now: () => Date.now() })
const { commit } = await source.checkout(
  repository,
  reference,
  folder,
  async (line) => console.log(line),
  new AbortController().signal,
)
console.log(`done ${commit}`)
