import {
  type EventPage,
  type PageLink,
  PER_PAGE_DEFAULT,
  PER_PAGE_MAX,
} from '@signalbox/contract/event-pages.ts'
import type { Event } from '@signalbox/contract/events.ts'
import { listEvents } from '@signalbox/contract/report-operations.ts'
import { Validator } from '../../runtime/http/validator.ts'

export interface EventPageRequest {
  page: number
  perPage: number
}

const pageValidator = new Validator(listEvents.schema.querystring, {
  coerceTypes: true,
  members: {
    page: { error: keyword => describeInvalidCount('page', keyword) },
    per_page: { error: keyword => describeInvalidCount('per_page', keyword) },
  },
})

function describeInvalidCount(field: string, keyword: string): string | null {
  return keyword === 'maximum' ? null : `The ${field} field must be an integer of at least 1.`
}

/**
 * Reads `page` and `per_page` from the query. A page size above 100 is capped. Throws a 422 refusal
 * for anything but a positive integer within the bounds of the contract.
 */
export function readPageRequest(query: unknown): EventPageRequest {
  const { page = 1, per_page: perPage = PER_PAGE_DEFAULT } = pageValidator.validate(query)
  return { page, perPage: Math.min(perPage, PER_PAGE_MAX) }
}

export interface PageContent extends EventPageRequest {
  events: Event[]
  total: number
  /** The absolute URL of the list. */
  path: string
}

/** A page of events with the links to other pages. */
export function buildEventPage({ events, total, path, page, perPage }: PageContent): EventPage {
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const urlOf = (number: number) =>
    `${path}?${new URLSearchParams({ per_page: String(perPage), page: String(number) })}`
  const previous = page > 1 ? urlOf(Math.min(page - 1, lastPage)) : null
  const next = page < lastPage ? urlOf(page + 1) : null
  const first = (page - 1) * perPage + 1
  return {
    current_page: page,
    data: events,
    first_page_url: urlOf(1),
    from: events.length === 0 ? null : first,
    last_page: lastPage,
    last_page_url: urlOf(lastPage),
    links: [
      { url: previous, label: '&laquo; Previous', active: false },
      ...buildPageLinks(page, lastPage, urlOf),
      { url: next, label: 'Next &raquo;', active: false },
    ],
    next_page_url: next,
    path,
    per_page: perPage,
    prev_page_url: previous,
    to: events.length === 0 ? null : first + events.length - 1,
    total,
  }
}

/** Pages shown on both sides of the current one, and at both ends of a long list. */
const NEIGHBORS = 3
const ENDS = 2
/** Lists with fewer pages show every page. */
const ALL_MAX = 2 * NEIGHBORS + 8

/** Like the paginator of Laravel: the ends, the neighbors of the current page, and dots between. */
function buildPageLinks(
  page: number,
  lastPage: number,
  urlOf: (page: number) => string,
): PageLink[] {
  const links: PageLink[] = []
  let before = 0
  for (const number of listShownPages(page, lastPage)) {
    if (number > before + 1) links.push({ url: null, label: '...', active: false })
    links.push({ url: urlOf(number), label: String(number), active: number === page })
    before = number
  }
  return links
}

function listShownPages(page: number, lastPage: number): number[] {
  if (lastPage < ALL_MAX) return range(1, lastPage)
  const window = 2 * NEIGHBORS + 4
  if (page <= NEIGHBORS + 5) return [...range(1, window), ...range(lastPage - ENDS + 1, lastPage)]
  if (page >= lastPage - NEIGHBORS - 4) {
    return [...range(1, ENDS), ...range(lastPage - window + 1, lastPage)]
  }
  return [
    ...range(1, ENDS),
    ...range(page - NEIGHBORS, page + NEIGHBORS),
    ...range(lastPage - ENDS + 1, lastPage),
  ]
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
}
