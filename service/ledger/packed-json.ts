/**
 * Writes the JSON of one column as a JSON string in which the phrases that most rows have are two
 * characters each. The events of a caller are alike in all but their values, and PostgreSQL
 * compresses no row of less than 2 KB, whatever its `toast_tuple_target` is (docs/decisions/0025).
 *
 *     ~A to ~Z, ~a to ~z   a phrase, by its place in the list
 *     ~0                   a text that follows from other columns of the row
 *     '                    a quote, which would need a backslash in a JSON string
 *     ~'  ~~               an apostrophe, a tilde
 *
 * Rows hold places in the list: a list only grows, at its end. A phrase that no row has any more
 * does no harm.
 */
export class PackedJson {
  readonly #markOf: Map<string, string>
  readonly #partOf: Map<string, string>
  readonly #parts: RegExp

  constructor(phrases: readonly string[]) {
    if (phrases.length > LETTERS.length) throw new Error('more phrases than there are marks')
    this.#markOf = new Map([
      ...Object.entries(CHARACTER_MARKS),
      ...phrases.map((phrase, index): [string, string] => [phrase, `~${LETTERS[index]}`]),
    ])
    this.#partOf = new Map([...this.#markOf].map(([part, mark]) => [mark, part]))
    // The first that fits is taken, so the longest comes first.
    const parts = [...this.#markOf.keys()].sort((one, other) => other.length - one.length)
    this.#parts = new RegExp(parts.map(escapedPattern).join('|'), 'g')
  }

  /** From the text of `JSON.stringify`; `given` is what follows from other columns of the row. */
  pack(text: string, given: string | null = null): string {
    const isShort = given === null || given.length <= GIVEN_MARK.length
    const marked = isShort ? text : text.replaceAll(given, GIVEN)
    const packed = marked.replace(this.#parts, part => this.#markOf.get(part) as string)
    return `"${packed.replaceAll('\\', '\\\\')}"`
  }

  /** Takes the parsed value of the column. One that is no string was stored before 0.5.0. */
  unpack(stored: unknown, given: string | null = null): unknown {
    if (typeof stored !== 'string') return stored
    const text = stored.replace(MARKS, mark => {
      const part = mark === GIVEN_MARK ? given : this.#partOf.get(mark)
      if (typeof part === 'string') return part
      throw new Error(`a column of the ledger has ${mark}, which this version does not know`)
    })
    return JSON.parse(text)
  }
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Stands for what is given while the rest is looked through; JSON escapes it everywhere. */
const GIVEN = '\x01'
const GIVEN_MARK = '~0'
const CHARACTER_MARKS = { '"': "'", "'": "~'", '~': '~~', [GIVEN]: GIVEN_MARK }
const MARKS = /~.|'/g

function escapedPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
