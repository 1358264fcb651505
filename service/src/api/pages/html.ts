// HTML in which nothing can be forgotten to be escaped: every value of the template is, unless it was made here.

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Value = string | number | Html | readonly Html[] | null | undefined | false

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (letter) => ESCAPES[letter]!)

/** Attributes are always written in quotes, so that what is escaped for text is safe in them too. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = strings[0]!
  for (const [index, value] of values.entries()) text += render(value) + strings[index + 1]!
  return new Html(text)
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map((one) => one.text).join('')
  return escaped(String(value))
}
