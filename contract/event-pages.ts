import Type, { type Static } from 'typebox'
import { Event } from './events.ts'
import { named, nullable } from './scalars.ts'

/** Events per page: the default and the maximum. */
export const PER_PAGE_DEFAULT = 25
export const PER_PAGE_MAX = 100

/** The largest number that `per_page` may be; anything above 100 is capped. */
export const PER_PAGE_NUMBER_MAX = 999_999_999_999_999

/** The last page that may be asked for. No tracker has as many events. */
export const PAGE_MAX = 1_000_000_000

const pageUrl = () => nullable(Type.String({ format: 'uri' }))
const position = (description: string) => nullable(Type.Integer({ minimum: 1, description }))

export const PageLink = named(
  'PageLink',
  Type.Object({ url: pageUrl(), label: Type.String(), active: Type.Boolean() }),
)
export type PageLink = Static<typeof PageLink>

/** A page in the form that clients know from Laravel. */
export const EventPage = named(
  'EventPage',
  Type.Object({
    current_page: Type.Integer({ minimum: 1 }),
    data: Type.Array(Event),
    first_page_url: pageUrl(),
    from: position('Position of the first event on the page; null on an empty one.'),
    last_page: Type.Integer({ minimum: 1 }),
    last_page_url: pageUrl(),
    links: Type.Array(PageLink),
    next_page_url: pageUrl(),
    path: Type.String({ format: 'uri' }),
    per_page: Type.Integer({ minimum: 1, maximum: PER_PAGE_MAX }),
    prev_page_url: pageUrl(),
    to: position('Position of the last event on the page; null on an empty one.'),
    total: Type.Integer({ minimum: 0 }),
  }),
)
export type EventPage = Static<typeof EventPage>

export const DashboardMetrics = named(
  'DashboardMetrics',
  Type.Object({
    accepted: Type.Integer({ minimum: 0, description: 'Live deliveries that were accepted.' }),
    total_deliveries: Type.Integer({
      minimum: 0,
      description: 'Live deliveries that were planned; skipped ones do not count.',
    }),
    acceptance_rate: nullable(Type.Number({ format: 'double', minimum: 0, maximum: 1 })),
    acceptance_rate_window: Type.Literal('last_7_days'),
  }),
)
export type DashboardMetrics = Static<typeof DashboardMetrics>

export const EventList = named(
  'EventList',
  Type.Object({ events: EventPage, metrics: DashboardMetrics }),
)
