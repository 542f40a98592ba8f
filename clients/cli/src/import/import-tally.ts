/** What an event lost on its way, or what is doubtful about it. Never holds a value. */
export interface Loss {
  /** As the codes of `notices` in the answer of the service. */
  code: string
  /** Dotted path of the member. */
  field: string
  reason: string
}

/** A loss of one or more lines. */
export interface CountedLoss extends Loss {
  count: number
  /** The first line that has it. */
  line: number
}

/** Names of members come from the file, so there may be any number of them. */
const FIELDS_MAX = 200
const OTHER = { code: 'other', field: '*', reason: 'Other fields lost values too.' }

/** Counts what an import leaves out, so that no row and no member is lost in silence. */
export class ImportTally {
  #blank = 0
  readonly #losses = new Map<string, CountedLoss>()

  /** Rows without any value. */
  get blank(): number {
    return this.#blank
  }

  /** By field, most frequent first. */
  get dropped(): CountedLoss[] {
    return [...this.#losses.values()].sort((one, other) => other.count - one.count)
  }

  countBlank(): void {
    this.#blank += 1
  }

  add(given: Loss, line: number): void {
    const known = this.#losses.get(keyOf(given))
    const loss = known || this.#losses.size < FIELDS_MAX ? given : OTHER
    const field = withoutIndexes(loss.field)
    const counted = this.#losses.get(keyOf(loss)) ?? { ...loss, field, count: 0, line }
    counted.count += 1
    counted.line = Math.min(counted.line, line)
    this.#losses.set(keyOf(loss), counted)
  }
}

/** Counts what the service said, or would say, of an event. */
export function noteNotices(
  tally: ImportTally,
  notices: readonly { code: string; field: string; message: string }[],
  line: number,
): void {
  for (const { code, field, message } of notices) tally.add({ code, field, reason: message }, line)
}

function keyOf({ code, field, reason }: Loss): string {
  return `${code}\n${withoutIndexes(field)}\n${withoutIndexes(reason)}`
}

/** `user_data.em[2]` is one place with `user_data.em[1]`. */
function withoutIndexes(text: string): string {
  return text.replaceAll(/\[\d+\]/g, '[]').replaceAll(/\.\d+(?=\.|$)/g, '[]')
}
