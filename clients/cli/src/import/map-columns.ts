import type { ConsentEvent } from '@signalbox/sdk'
import { parseWithoutRepeats } from '../../../../service/runtime/util/json-shape.ts'
import { createUsageError } from '../cli-error.ts'
import { coerceText, EVENT_FIELDS, type EventBody, setMember } from '../event-fields.ts'
import { type CellFormats, readCell } from './cell-formats.ts'
import type { RowLikeness } from './read-csv.ts'

type Member = keyof ConsentEvent

/**
 * Members of an event that a path may begin with; true for those with members of their own. A
 * member that is new in the contract fails the type check here.
 */
const MEMBERS: Readonly<Record<Member, boolean>> = {
  event_id: false,
  event_name: false,
  event_time: false,
  parent_event_id: false,
  event_source: false,
  action_source: false,
  visitor_id: false,
  consent_basis: false,
  opt_out: false,
  data_processing_options: false,
  data_processing_options_country: false,
  data_processing_options_state: false,
  referrer_url: false,
  messaging_channel: false,
  advertiser_tracking_enabled: false,
  customer_segmentation: false,
  consent: true,
  consent_mode: true,
  tcf: true,
  user_data: true,
  click_ids: true,
  value_data: true,
  app_data: true,
  withdrawn_platforms: true,
}

/** How the rows of a file become events. */
export interface ColumnMapping {
  columns: number
  /** Null when no cell says anything. Throws a CliError for cells that contradict each other. */
  toEvent: (cells: readonly string[]) => EventBody | null
  likenessOf: (cells: readonly string[]) => RowLikeness
  /** Whether a row's own cells say what the person chose. */
  hasConsent: boolean
}

/** Maps the columns of a header. No column is left out in silence. */
export function mapColumns(
  header: readonly string[],
  map: readonly string[],
  formats: CellFormats = {},
): ColumnMapping {
  const columns = resolveColumns(header, parseMap(map))
  const members = columns.flatMap(column => column?.member ?? [])
  const consent = findConsentColumns(members)
  return {
    columns: header.length,
    toEvent: cells => toEvent(cells, { columns, consent, formats }),
    likenessOf: cells =>
      cells.length === columns.length ? compareCells(cells, columns, formats) : 'none',
    hasConsent: members.some(isConsentObject),
  }
}

interface Column {
  member: string
  /** The column says that the person agreed, and when: `consent_granted_at`. */
  isGrant: boolean
}

/** A column for each cell; null for one that is ignored. */
function resolveColumns(
  header: readonly string[],
  mapped: ReadonlyMap<string, string>,
): (Column | null)[] {
  for (const column of mapped.keys()) {
    if (!header.some(name => name.trim() === column)) {
      throw createUsageError(`There is no column ${JSON.stringify(column)} in the file.`)
    }
  }
  const unknown: string[] = []
  const columns = header.map(text => {
    const name = text.trim()
    const given = mapped.get(name) ?? name
    if (mapped.get(name) === '') return null
    const member = resolveMember(given)
    if (member === undefined) unknown.push(given)
    return member === undefined ? null : { member, isGrant: isGrantName(given) }
  })
  if (unknown.length > 0) {
    const [first = ''] = unknown
    throw createUsageError(
      `No member of an event is named ${unknown.map(name => JSON.stringify(name)).join(', ')}.`,
      `Map it, such as --map "${first}=value_data.value", or ignore it: --map "${first}="`,
    )
  }
  const members = columns.flatMap(column => column?.member ?? [])
  const twice = members.find((member, at) => members.indexOf(member) !== at)
  if (twice !== undefined) throw createUsageError(`Two columns are ${twice}.`)
  return columns
}

interface RowReading {
  columns: readonly (Column | null)[]
  consent: ConsentColumns
  formats: CellFormats
}

function toEvent(
  cells: readonly string[],
  { columns, consent, formats }: RowReading,
): EventBody | null {
  const event: EventBody = {}
  let isGrantedByTime = false
  for (const [at, column] of columns.entries()) {
    const given = cells[at]?.trim() ?? ''
    // An empty cell says nothing.
    if (column === null || given === '') continue
    const text = readCell(column.member, given, formats)
    setMember(event, column.member, parseCell(column.member, text))
    isGrantedByTime ||= column.isGrant
  }
  if (Object.keys(event).length === 0) return null
  if (consent !== null && !columns.some((column, at) => isAnswer(column, cells[at], consent))) {
    const isGranted = isGrantedByTime && consent === 'time'
    setMember(event, 'consent.advertising', isGranted ? 'granted' : 'unknown')
  }
  return event
}

/**
 * What says a row's consent: the columns of the person's `choice`; without one, its `time`; without
 * both, the `basis`. Null: the options say it for every row.
 *
 * A row whose cells say nothing must not count as the attestation that `consent_basis` alone is. It
 * is sent as unknown, which is stored and not delivered.
 */
type ConsentColumns = 'choice' | 'time' | 'basis' | null

/** These tell how consent was asked, and no answer: they grant nothing (docs/guides/consent.md). */
const DETAILS = /\.(captured_at|method|source|version|policy_url|locale)$/

function isChoice(member: string): boolean {
  return isConsentObject(member) && !DETAILS.test(member)
}

function isConsentObject(member: string): boolean {
  return /^(consent|consent_mode|tcf)\./.test(member)
}

function findConsentColumns(members: readonly string[]): ConsentColumns {
  if (members.some(isChoice)) return 'choice'
  if (members.some(isConsentObject)) return 'time'
  return members.includes('consent_basis') ? 'basis' : null
}

function isAnswer(column: Column | null, cell = '', consent: ConsentColumns): boolean {
  if (column === null || cell.trim() === '') return false
  return consent === 'basis' ? column.member === 'consent_basis' : isChoice(column.member)
}

/** What cells of a row look like. They tell rows from the text of a cell with line breaks. */
const CELL_FORMS: Readonly<Record<string, RegExp>> = {
  'value_data.value': /^[^\w\s]?\s?-?\d[\d.,']*$/,
  'value_data.currency': /^[A-Za-z]{3}$/,
  'value_data.num_items': /^\d+$/,
  event_time: /^(\d{9,13}|\d{4}-\d\d-\d\d.*)$/,
  'consent.captured_at': /^\d{4}-\d\d-\d\d/,
  'user_data.em': /^(\S+@\S+|[0-9a-fA-F]{64})$/,
  event_source: /^https?:/,
}

function compareCells(
  cells: readonly string[],
  columns: readonly (Column | null)[],
  formats: CellFormats,
): RowLikeness {
  const compared = columns.flatMap((column, at) => {
    const form = column === null ? undefined : CELL_FORMS[column.member]
    const text = cells[at]?.trim() ?? ''
    if (form === undefined || text === '' || column === null) return []
    return [form.test(readOrKeep(column.member, text, formats))]
  })
  if (compared.includes(false)) return 'none'
  return compared.length > 0 ? 'row' : 'shape'
}

function readOrKeep(member: string, text: string, formats: CellFormats): string {
  try {
    return readCell(member, text, formats)
  } catch {
    return text
  }
}

/** Members that take lists and objects, such as the contents of an order. */
const STRUCTURED = new Set<string>(Object.keys(MEMBERS).filter(name => MEMBERS[name as Member]))

function parseCell(member: string, text: string): unknown {
  const [first = ''] = member.split('.')
  const mayBeJson = STRUCTURED.has(first) || first === 'data_processing_options'
  return (mayBeJson ? parseJson(member, text) : null) ?? coerceText(member, text)
}

/** Null for text that is no JSON. Throws a CliError when it names a member twice. */
function parseJson(member: string, text: string): unknown {
  if (!/^[[{]/.test(text)) return null
  let parsed: { value: unknown } | null
  try {
    parsed = parseWithoutRepeats(text)
  } catch {
    return null
  }
  if (parsed === null) throw createUsageError(`A cell of ${member} names a member twice.`)
  return parsed.value
}

function parseMap(map: readonly string[]): Map<string, string> {
  const mapped = new Map<string, string>()
  for (const entry of map) {
    const at = entry.lastIndexOf('=')
    if (at < 1) throw createUsageError(`--map takes column=member, not ${JSON.stringify(entry)}.`)
    const column = entry.slice(0, at).trim()
    if (mapped.has(column)) {
      throw createUsageError(`--map names the column ${JSON.stringify(column)} twice.`)
    }
    mapped.set(column, entry.slice(at + 1).trim())
  }
  return mapped
}

function toOptionName(name: string): string {
  return name.toLowerCase().replaceAll(/[_ ]/g, '-')
}

function isGrantName(name: string): boolean {
  return toOptionName(name) === 'consent-granted-at'
}

/** Undefined when no member has the name: `total`; its path otherwise: `value_data.value`. */
function resolveMember(name: string): string | undefined {
  const option = toOptionName(name)
  const field = EVENT_FIELDS.find(each => each.name === option)
  if (field) return field.member
  const [first = '', ...rest] = name.split('.')
  if (!Object.hasOwn(MEMBERS, first)) return undefined
  const isObject = MEMBERS[first as Member]
  return isObject === rest.length > 0 && rest.every(part => part !== '') ? name : undefined
}
