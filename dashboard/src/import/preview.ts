import type { EventBody } from '@signalbox/cli/src/event-fields.ts'
import { EVENT_FIELDS } from '@signalbox/cli/src/event-fields.ts'
import { ImportTally } from '@signalbox/cli/src/import/import-tally.ts'
import { CsvRows } from '@signalbox/cli/src/import/read-csv.ts'
import type { ChosenFile } from './read-file.ts'
import { type Mapping, readRows } from './run-import.ts'

/** A column of a file with its first values. */
export interface FileColumn {
  name: string
  samples: string[]
}

const SAMPLES = 3

/** The columns of a file. Throws for a file without a header. */
export async function readColumns(file: ChosenFile): Promise<FileColumn[]> {
  const rows = new CsvRows(file.lines(), undefined)
  const header = await rows.next()
  if (!header?.cells) throw new Error('The file has no header that can be read.')
  const columns = header.cells.map(name => ({ name: name.trim(), samples: [] as string[] }))
  for (let number = 0; number < SAMPLES; number += 1) {
    const row = await rows.next()
    for (const [at, cell] of row?.cells?.entries() ?? []) columns[at]?.samples.push(cell.trim())
  }
  return columns
}

/** The first events of a file, or why one is none. */
export async function readPreview(
  file: ChosenFile,
  mapping: Mapping,
): Promise<(EventBody | string)[]> {
  const found: (EventBody | string)[] = []
  for await (const { event, problem } of readRows(file, mapping, new ImportTally())) {
    found.push(event ?? problem)
    if (found.length === SAMPLES) break
  }
  return found
}

/** Members beyond those that have a short name. */
const MORE_MEMBERS = [
  'consent.advertising',
  'consent.ad_user_data',
  'user_data.fn',
  'user_data.ln',
  'user_data.ct',
  'user_data.st',
  'user_data.zp',
  'user_data.country',
  'click_ids.fbclid',
  'click_ids.gclid',
  'value_data.content_ids',
  'value_data.predicted_ltv',
]

export const MEMBERS = [...EVENT_FIELDS.map(({ member }) => member), ...MORE_MEMBERS]

const SYNONYMS: Readonly<Record<string, string>> = {
  amount: 'value_data.value',
  total: 'value_data.value',
  date: 'event_time',
  created_at: 'event_time',
  event: 'event_name',
  order: 'value_data.order_id',
  consent: 'consent.advertising',
}

/** The member that a column probably is; empty for a column that is ignored until one is chosen. */
export function guessMember(column: string): string {
  const name = column.toLowerCase().replaceAll(/[\s-]+/g, '_')
  const field = EVENT_FIELDS.find(each => each.name.replaceAll('-', '_') === name)
  if (field) return field.member
  return MEMBERS.find(member => member === column) ?? SYNONYMS[name] ?? ''
}
