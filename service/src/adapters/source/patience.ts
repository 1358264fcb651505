import { SourceFault } from '../../ports/source.ts'

/** Empty when `work` was done in time; else why not. What takes longer goes on by itself. */
export async function patiently(work: Promise<unknown>, patienceMs: number): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`the git host did not answer within ${patienceMs / 1000} s`), patienceMs)
  })
  const done = work.then(
    () => '',
    (error: unknown) => {
      if (error instanceof SourceFault) return error.message
      throw error
    },
  )
  done.catch(() => {})
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}
