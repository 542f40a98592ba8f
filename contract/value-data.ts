import Type, { type Static } from 'typebox'
import { CURRENCY_PATTERN, DECIMAL_PATTERN } from './decimal.ts'
import { freeForm, named, stringEnum } from './scalars.ts'

export const CONTENTS_ITEMS_MAX = 50
export const CONTENTS_BYTES_MAX = 16_384
export const CONTENT_IDS_MAX = 100
export const CUSTOM_PROPERTIES_MAX = 100
export const CUSTOM_PROPERTIES_BYTES_MAX = 8_192
/** `{"a": {"b": {"c": 1}}}` is three levels deep. */
export const CUSTOM_PROPERTIES_DEPTH_MAX = 3

const money = (description: string) =>
  Type.Optional(Type.String({ pattern: DECIMAL_PATTERN, description }))

const text = (description: string) => Type.Optional(Type.String({ maxLength: 1_000, description }))

const ContentIdText = named('ContentIdText', Type.String({ maxLength: 256 }))
const ContentIdNumber = named('ContentIdNumber', Type.Integer({ format: 'int64' }))

const ContentId = named(
  'ContentId',
  Type.Unsafe<string | number>({
    anyOf: [ContentIdText, ContentIdNumber],
    description: 'The id of a product or of a group.',
  }),
)

const ContentIds = named(
  'ContentIds',
  Type.Unsafe<Static<typeof ContentId> | Static<typeof ContentId>[]>({
    anyOf: [
      named('ContentIdList', Type.Array(ContentId, { maxItems: CONTENT_IDS_MAX })),
      ContentIdText,
      ContentIdNumber,
    ],
    description: 'Ids of products or of groups. Taken from `contents` when left out.',
  }),
)

/** Meta: products, and what the catalogs for travel, vehicles and property have. */
export const CONTENT_TYPES = [
  'product',
  'product_group',
  'hotel',
  'flight',
  'destination',
  'vehicle',
  'home_listing',
] as const

const ContentKind = named(
  'ContentKind',
  stringEnum(CONTENT_TYPES, { description: 'What an id of the contents names.' }),
)

const ContentType = named(
  'ContentType',
  Type.Unsafe<Static<typeof ContentKind> | Static<typeof ContentKind>[]>({
    anyOf: [
      ContentKind,
      named(
        'ContentKindList',
        Type.Array(ContentKind, { minItems: 1, maxItems: CONTENT_TYPES.length }),
      ),
    ],
    description: 'What the ids of the contents name: one kind, or several. Not sent when left out.',
  }),
)

const RegistrationStatus = named(
  'RegistrationStatus',
  Type.Unsafe<string | boolean>({
    anyOf: [
      named('RegistrationStatusText', Type.String({ maxLength: 100 })),
      named('RegistrationStatusFlag', Type.Boolean()),
    ],
    description: 'Status of a registration.',
  }),
)

export const ValueData = named(
  'ValueData',
  Type.Object(
    {
      value: money('Money in major units as decimal text; kept exactly as sent.'),
      currency: Type.Optional(
        Type.String({
          pattern: CURRENCY_PATTERN,
          description: 'An ISO 4217 code that is in use, in any case.',
        }),
      ),
      order_id: Type.Optional(Type.String()),
      contents: Type.Optional(
        Type.Array(Type.Unknown(), {
          maxItems: CONTENTS_ITEMS_MAX,
          description:
            'Items, at most 16 KiB serialized. An item is an object with an `id`; `item_id`, ' +
            '`product_id` and `sku` are read as it. Others are stored and not sent.',
        }),
      ),
      num_items: Type.Optional(Type.Integer()),
      content_type: Type.Optional(ContentType),
      content_ids: Type.Optional(ContentIds),
      content_name: text('Name of the page or product.'),
      content_category: text('Category of the page or product.'),
      search_string: text('What the visitor searched for.'),
      status: Type.Optional(RegistrationStatus),
      predicted_ltv: money('Predicted lifetime value as decimal text; kept exactly as sent.'),
      net_revenue: money('Margin as decimal text; kept exactly as sent.'),
      delivery_category: Type.Optional(
        stringEnum(['in_store', 'curbside', 'home_delivery'], {
          description: 'How the order reaches the customer.',
        }),
      ),
      custom_properties: Type.Optional(
        freeForm(
          'Your own properties, sent as they are: at most 100 members in 3 levels and 8 KiB ' +
            'serialized. None may have the name of another member of `value_data`.',
        ),
      ),
    },
    { description: 'Commerce data.' },
  ),
)
export type ValueData = Static<typeof ValueData>

/** The names of the members of `value_data`. */
export const VALUE_DATA_MEMBERS: ReadonlySet<string> = new Set(Object.keys(ValueData.properties))
