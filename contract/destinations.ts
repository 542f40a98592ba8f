import Type, { type Static } from 'typebox'
import { CURRENCY_PATTERN, UNSIGNED_DECIMAL_PATTERN } from './decimal.ts'
import { freeForm, INTEGER_MAX, named, nullable, timestamp } from './scalars.ts'

/** Visible ASCII, as platforms show their codes. */
export const TEST_CODE_PATTERN = '^[!-~]*$'

/** Where a tracker's events go. Its credential is no member of any read. */
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
          'test mode ends by itself, null while it is off; `status_reason`, why it is inactive.',
      ),
    ),
    status: Type.Unsafe<'active' | 'inactive'>({ type: 'string', enum: ['active', 'inactive'] }),
    created_at: nullable(timestamp('When it was connected.')),
    updated_at: nullable(timestamp('When it last changed.')),
  }),
)
export type Destination = Static<typeof Destination>

export const TestModeSubmission = named(
  'TestModeSubmission',
  Type.Object({
    enabled: Type.Boolean({ description: 'Whether new events go out as test events.' }),
    test_event_code: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 100,
          pattern: TEST_CODE_PATTERN,
          description:
            "The code that the platform shows beside its test events, such as Meta's Events " +
            'Manager. Without one the code that is there is kept, or one is made.',
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
    test_mode: Type.Boolean({ description: 'Whether new events go out as test events now.' }),
  }),
)

export const TestPurchaseSubmission = named(
  'TestPurchaseSubmission',
  Type.Object({
    value: Type.Optional(
      Type.String({
        pattern: UNSIGNED_DECIMAL_PATTERN,
        description: 'Decimal text, kept exactly; 1.00 when it is left out.',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        pattern: CURRENCY_PATTERN,
        description: 'ISO 4217, in any case; USD when it is left out.',
      }),
    ),
    order_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'One that is clearly no order is made when it is left out.',
      }),
    ),
  }),
)
export type TestPurchaseSubmission = Static<typeof TestPurchaseSubmission>

export const TestPurchase = named(
  'TestPurchase',
  Type.Object({
    event_id: Type.String({ description: 'Read it like any other event.' }),
    status: Type.String({ description: 'The status of its delivery.' }),
    trace_id: nullable(Type.String({ description: 'For the platform support desk.' })),
  }),
)
export type TestPurchase = Static<typeof TestPurchase>
