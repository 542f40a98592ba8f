import Type, { type Static } from 'typebox'
import { CURRENCY_PATTERN, UNSIGNED_DECIMAL_PATTERN } from './decimal.ts'
import { ACTION_SOURCES } from './event-context.ts'
import { named, nullable, stringEnum } from './scalars.ts'

/** Names of a map or of a filter. */
export const ROUTED_NAMES_MAX = 200
const NAME_CHARACTERS_MAX = 255

export const KEY_SPACES = ['secret', 'publishable'] as const
export const TEST_SELECTIONS = ['include', 'exclude', 'only'] as const

const EventName = Type.String({ minLength: 1, maxLength: NAME_CHARACTERS_MAX })

const MinimumValue = named(
  'MinimumValue',
  Type.Object(
    {
      amount: Type.String({ pattern: UNSIGNED_DECIMAL_PATTERN, description: 'Decimal text.' }),
      currency: Type.String({ pattern: CURRENCY_PATTERN, description: 'ISO 4217, in any case.' }),
    },
    { additionalProperties: false },
  ),
)

/** What an event must fit to be sent; a member that is absent selects everything. */
const RoutingFilter = named(
  'RoutingFilter',
  Type.Object(
    {
      event_names: Type.Optional(
        Type.Array(EventName, {
          minItems: 1,
          maxItems: ROUTED_NAMES_MAX,
          uniqueItems: true,
          description: 'Compared exactly: upper and lower case differ, as in standard names.',
        }),
      ),
      action_sources: Type.Optional(
        Type.Array(stringEnum(ACTION_SOURCES), { minItems: 1, uniqueItems: true }),
      ),
      minimum_value: Type.Optional(MinimumValue),
      spaces: Type.Optional(
        Type.Array(stringEnum(KEY_SPACES), {
          minItems: 1,
          uniqueItems: true,
          description: 'The kind of key that sent the event.',
        }),
      ),
      test: Type.Optional(
        stringEnum(TEST_SELECTIONS, { description: 'Events of test mode. Default: include.' }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type RoutingFilter = Static<typeof RoutingFilter>

/** Type.Record would repeat the pattern of the names in the document. */
const EventNameMap = named(
  'EventNameMap',
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: ROUTED_NAMES_MAX,
    propertyNames: { minLength: 1, maxLength: NAME_CHARACTERS_MAX },
    additionalProperties: { type: 'string', minLength: 1, maxLength: NAME_CHARACTERS_MAX },
    description:
      "From the name of an event to the platform's name or conversion action. Names are compared " +
      'exactly.',
  }),
)

/** Which events a destination gets, and what its platform calls them. Empty: everything, as is. */
export const DestinationRouting = named(
  'DestinationRouting',
  Type.Object(
    { event_names: Type.Optional(EventNameMap), filter: Type.Optional(RoutingFilter) },
    { additionalProperties: false },
  ),
)
export type DestinationRouting = Static<typeof DestinationRouting>

/** A member that is left out keeps its value; null clears it. */
export const RoutingSubmission = named(
  'RoutingSubmission',
  Type.Object(
    {
      event_names: Type.Optional(nullable(EventNameMap)),
      filter: Type.Optional(nullable(RoutingFilter)),
    },
    { additionalProperties: false },
  ),
)
export type RoutingSubmission = Static<typeof RoutingSubmission>

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const PREVIEW_EVENTS_MAX = 1_000
export const PREVIEW_NAMES_MAX = 50

const RoutingPreviewName = named(
  'RoutingPreviewName',
  Type.Object({
    event_name: Type.String(),
    platform_name: Type.String({ description: 'What the platform would call it.' }),
    is_mapped: Type.Boolean({ description: 'The map has an entry for it.' }),
    selected: count('Events that the destination would get.'),
    not_selected: count('Events that it would not get.'),
  }),
)

export const RoutingPreview = named(
  'RoutingPreview',
  Type.Object({
    events: count(`Events that were compared: the last ones, at most ${PREVIEW_EVENTS_MAX}.`),
    selected: count('Events that the destination would get, if consent allows it.'),
    not_selected: Type.Array(
      Type.Object({
        reason: Type.String({ description: 'The first member that does not match.' }),
        count: count('Events with this reason.'),
      }),
      { description: 'Most frequent first.' },
    ),
    names: Type.Array(RoutingPreviewName, {
      description: `By event name, most frequent first, at most ${PREVIEW_NAMES_MAX}.`,
    }),
    unused_names: Type.Array(Type.String(), {
      description: 'Names of the map and the filter that none of these events has.',
    }),
  }),
)
export type RoutingPreview = Static<typeof RoutingPreview>
