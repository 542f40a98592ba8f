import Type, { type Static } from 'typebox'
import { named, stringEnum } from './scalars.ts'

/** Where a conversion happens, in the words of the platforms; read in any case. */
export const ACTION_SOURCES = [
  'email',
  'website',
  'app',
  'phone_call',
  'chat',
  'physical_store',
  'system_generated',
  'business_messaging',
  'other',
] as const

/** California; Maryland is 1012 and Rhode Island 1013 (Meta, "Data Processing Options"). */
export const PROCESSING_STATE_FIRST = 1_000
const PROCESSING_STATE_LAST = 1_013

/** Devices report it as a boolean or as 0 and 1. */
const TrackingPermission = named(
  'TrackingPermission',
  Type.Unsafe<boolean | 0 | 1>({
    anyOf: [
      named('TrackingBoolean', Type.Boolean()),
      named('TrackingNumber', Type.Integer({ minimum: 0, maximum: 1 })),
    ],
    description: 'Permission for tracking: a boolean, or 0 and 1.',
  }),
)

const text = (description: string) => Type.Optional(Type.String({ maxLength: 1_000, description }))

/** The places of `extinfo`; a missing value is empty text (Meta, "App Data Parameters"). */
const EXTINFO_ITEMS = 16

export const AppData = named(
  'AppData',
  Type.Object(
    {
      advertiser_tracking_enabled: Type.Optional(TrackingPermission),
      application_tracking_enabled: Type.Optional(TrackingPermission),
      extinfo: Type.Optional(
        Type.Array(Type.String({ maxLength: 1_000 }), {
          minItems: EXTINFO_ITEMS,
          maxItems: EXTINFO_ITEMS,
          description:
            'The device in 16 places: `a2` or `i2`, package, versions, OS version, model, ' +
            'locale, time zone, carrier, screen, CPU, storage. A missing value is empty text.',
        }),
      ),
      campaign_ids: text('Encrypted metadata of the link from an ad.'),
      install_referrer: text('Android.'),
      installer_package: text('Android.'),
      url_schemes: Type.Optional(Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 50 })),
      vendor_id: text('iOS.'),
      windows_attribution_id: text('Windows.'),
    },
    { description: 'The app and its device. Kept with the identity, and deleted with it.' },
  ),
)
export type AppData = Static<typeof AppData>

/** The names of the members of `app_data`. */
export const APP_DATA_MEMBERS: ReadonlySet<string> = new Set(Object.keys(AppData.properties))

const CUSTOMER_SEGMENTS = [
  'new_customer_to_business',
  'new_customer_to_business_line',
  'new_customer_to_product_area',
  'new_customer_to_medium',
  'existing_customer_to_business',
  'existing_customer_to_business_line',
  'existing_customer_to_product_area',
  'existing_customer_to_medium',
  'customer_in_loyalty_program',
] as const

/** Members of an event that are stored and sent to the platform as they are. */
export const contextMembers = {
  opt_out: Type.Optional(
    Type.Boolean({
      description: 'Count the event, but never use it to choose who sees an advertisement.',
    }),
  ),
  data_processing_options: Type.Optional(
    Type.Array(stringEnum(['LDU']), {
      maxItems: 1,
      description: '`["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction.',
    }),
  ),
  data_processing_options_country: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1, description: '1 for the USA; 0 to be located.' }),
  ),
  data_processing_options_state: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: PROCESSING_STATE_LAST,
      description:
        '1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, ' +
        '1005 Texas, 1006 Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, ' +
        '1010 New Jersey, 1011 Minnesota, 1012 Maryland, 1013 Rhode Island; ' +
        '0 to be located. Required with a country.',
    }),
  ),
  referrer_url: Type.Optional(
    Type.String({ description: 'The page that led to the page of the event.' }),
  ),
  app_data: Type.Optional(AppData),
  messaging_channel: Type.Optional(
    stringEnum(['messenger', 'whatsapp', 'instagram'], {
      description: 'Required with the action source `business_messaging`.',
    }),
  ),
  advertiser_tracking_enabled: Type.Optional(TrackingPermission),
  customer_segmentation: Type.Optional(
    stringEnum(CUSTOMER_SEGMENTS, {
      description: 'What the customer is to the business.',
    }),
  ),
}
