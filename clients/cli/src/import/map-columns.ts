import type { ConsentEvent } from '@signalbox/sdk'
import { coerceText, EVENT_FIELDS, type EventBody, setMember } from '../event-fields.ts'
import { createUsageError } from '../exit-codes.ts'

/**
 * Members of an event that a path may begin with; true for those with members of their own. A
 * member that is new in the contract fails the type check here.
 */
const MEMBERS: Readonly<Record<keyof ConsentEvent, boolean>> = {
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
}

/** Makes events of the rows of a file with this header. No column is left out in silence. */
export function mapColumns(
  header: readonly string[],
  map: readonly string[],
): (cells: readonly string[]) => EventBody {
  const mapped = parseMap(map)
  for (const column of mapped.keys()) {
    if (!header.some(name => name.trim() === column)) {
      throw createUsageError(`There is no column ${JSON.stringify(column)} in the file.`)
    }
  }
  const unknown: string[] = []
  const members = header.map(name => {
    const column = name.trim()
    const given = mapped.get(column)
    const member = given === '' ? null : resolveMember(given ?? column)
    if (member === undefined) unknown.push(given ?? column)
    return member ?? null
  })
  if (unknown.length > 0) {
    const [first = ''] = unknown
    throw createUsageError(
      `No member of an event is named ${unknown.map(name => JSON.stringify(name)).join(', ')}.`,
      `Map it, such as --map "${first}=value_data.value", or ignore it: --map "${first}="`,
    )
  }
  const named = members.filter(member => member !== null)
  const twice = named.find((member, at) => named.indexOf(member) !== at)
  if (twice !== undefined) throw createUsageError(`Two columns are ${twice}.`)
  return cells => toEvent(cells, members)
}

function toEvent(cells: readonly string[], members: readonly (string | null)[]): EventBody {
  const event: EventBody = {}
  for (const [at, member] of members.entries()) {
    const text = cells[at]?.trim() ?? ''
    // An empty cell says nothing.
    if (member === null || text === '') continue
    setMember(event, member, parseJson(text) ?? coerceText(member, text))
    if (member === 'consent.captured_at') setMember(event, 'consent.advertising', 'granted')
  }
  return event
}

/** Lists and objects, such as the contents of an order. */
function parseJson(text: string): unknown {
  if (!/^[[{]/.test(text)) return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function parseMap(map: readonly string[]): Map<string, string> {
  const mapped = new Map<string, string>()
  for (const entry of map) {
    const at = entry.lastIndexOf('=')
    if (at < 1) throw createUsageError(`--map takes column=member, not ${JSON.stringify(entry)}.`)
    mapped.set(entry.slice(0, at).trim(), entry.slice(at + 1).trim())
  }
  return mapped
}

/** Undefined when no member has the name: `total`; its path otherwise: `value_data.value`. */
function resolveMember(name: string): string | undefined {
  const option = name.toLowerCase().replaceAll(/[_ ]/g, '-')
  const field = EVENT_FIELDS.find(each => each.name === option)
  if (field) return field.member
  const [first = '', ...rest] = name.split('.')
  if (!Object.hasOwn(MEMBERS, first)) return undefined
  const isObject = MEMBERS[first as keyof ConsentEvent]
  return isObject === rest.length > 0 && rest.every(part => part !== '') ? name : undefined
}
