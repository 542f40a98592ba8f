import Type, { type Static } from 'typebox'
import { CURRENCY_PATTERN, UNSIGNED_DECIMAL_PATTERN } from './decimal.ts'
import { FieldErrors, ValidationError } from './errors.ts'
import {
  freeForm,
  INTEGER_MAX,
  named,
  nullable,
  optionalBody,
  stringEnum,
  timestamp,
} from './scalars.ts'

/** Visible ASCII, the form of the platforms' codes. */
export const TEST_CODE_PATTERN = '^[!-~]*$'

export const DESTINATION_STATUSES = ['active', 'inactive'] as const
export type DestinationStatus = (typeof DESTINATION_STATUSES)[number]

/** Where a tracker's events are sent. No read returns its credential. */
export const Destination = named(
  'Destination',
  Type.Object({
    id: Type.String(),
    workspace_id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    signal_tracker_id: Type.String(),
    platform_ad_account_id: nullable(Type.Integer({ minimum: 1, maximum: INTEGER_MAX })),
    type: Type.String({ description: 'The name of its platform, such as `meta`.' }),
    credential_source: Type.Literal('oauth_connection'),
    config: nullable(
      freeForm(
        '`dataset_id`; `test_event_code`, kept while test mode is off; `test_mode_until`, when ' +
          'test mode turns off, null while it is off; `status_reason`, why it is inactive.',
      ),
    ),
    status: stringEnum(DESTINATION_STATUSES),
    created_at: nullable(timestamp('When it was connected.')),
    updated_at: nullable(timestamp('When it last changed.')),
  }),
)
export type Destination = Static<typeof Destination>

export const TestModeSubmission = named(
  'TestModeSubmission',
  Type.Object({
    enabled: Type.Boolean({ description: 'Whether new events are sent as test events.' }),
    test_event_code: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 100,
          pattern: TEST_CODE_PATTERN,
          description:
            "The code that the platform shows beside its test events, such as Meta's Events " +
            'Manager. Left out, the stored code is kept; null clears it. Test mode always has ' +
            'a code: where none is left, switching it on makes one.',
        }),
      ),
    ),
  }),
)
export type TestModeSubmission = Static<typeof TestModeSubmission>

export const TestMode = named(
  'TestMode',
  Type.Object({
    destination: Destination,
    test_mode: Type.Boolean({
      description: 'Whether new events are currently sent as test events.',
    }),
  }),
)

export const TestPurchaseSubmission = named(
  'TestPurchaseSubmission',
  optionalBody({
    value: Type.Optional(
      Type.String({
        pattern: UNSIGNED_DECIMAL_PATTERN,
        description: 'Decimal text, stored exactly; default 1.00.',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        pattern: CURRENCY_PATTERN,
        description: 'ISO 4217, in any case; default USD.',
      }),
    ),
    order_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'By default, a value that is clearly not a real order.',
      }),
    ),
  }),
)
export type TestPurchaseSubmission = Static<typeof TestPurchaseSubmission>

/** 422: `errors` names each invalid field; it is absent when test mode is off. */
export const TestPurchaseError = named(
  'TestPurchaseError',
  Type.Object({
    message: ValidationError.properties.message,
    errors: Type.Optional(FieldErrors),
  }),
)

export const TestPurchase = named(
  'TestPurchase',
  Type.Object({
    event_id: Type.String({ description: 'The id of the event, readable like any other.' }),
    status: Type.String({ description: 'The status of its delivery.' }),
    trace_id: nullable(Type.String({ description: 'For the support team of the platform.' })),
  }),
)
export type TestPurchase = Static<typeof TestPurchase>
