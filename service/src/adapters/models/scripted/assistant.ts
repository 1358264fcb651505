// The plan of the built-in assistant, and of every agent that has none of its own: it looks at the repository as the
// message asks and tells what it found, so that the answer follows the files.
import { block, firstLines, lookAround, type Surroundings } from './look-around.ts'
import type { Plan } from './plan.ts'

export const assistantPlan: Plan = function* ({ message }) {
  const around = yield* lookAround(message)
  return [...foundText(around), ...surroundingsText(around)].join('\n\n')
}

function foundText({ found, files }: Surroundings): string[] {
  if (found.length + files.length === 0) return ['Nothing in the repository matches the words of your message.']
  return [
    ...files.map(({ name, text }) => `\`${name}\`:\n\n${block(firstLines(text, 30))}`),
    ...found.map(({ word, text }) => `Found for \`${word}\`:\n\n${block(firstLines(text, 12))}`),
  ]
}

function surroundingsText({ listing, readme }: Surroundings): string[] {
  const top = listing.isError ? listing.text : block(firstLines(listing.text, 20))
  const about = readme === null ? [] : [`${readme.name} begins:\n\n${block(firstLines(readme.text, 12))}`]
  return [`The repository holds:\n\n${top}`, ...about]
}
