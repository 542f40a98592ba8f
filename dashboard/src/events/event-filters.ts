export const FILTER_NAMES = [
  ...(['search', 'status', 'name', 'destination', 'reason', 'test', 'space', 'value'] as const),
  ...(['order', 'parent', 'event_from', 'event_to', 'from', 'to'] as const),
] as const

/** The filters of the list, as they stand in the address. */
export type EventFilters = Partial<Record<(typeof FILTER_NAMES)[number], string>>

/** Keeps what the list knows of an address. */
function readEventFilters(search: Record<string, unknown>): EventFilters {
  const filters: EventFilters = {}
  for (const name of FILTER_NAMES) {
    const value = search[name]
    if (typeof value === 'string' && value !== '') filters[name] = value
  }
  return filters
}

/** The address of the list. `live` shows events as they arrive. */
export type EventListSearch = EventFilters & { live?: 'on' | undefined }

export function readEventListSearch(search: Record<string, unknown>): EventListSearch {
  return { ...readEventFilters(search), ...(search.live === 'on' && { live: 'on' }) }
}
