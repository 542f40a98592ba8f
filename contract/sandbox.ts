import Type, { type Static } from 'typebox'
import { named, timestamp } from './scalars.ts'
import { ConsentEvent, LegitimateInterestEvent } from './submissions.ts'

/** The only scope of a sandbox key. */
export const SANDBOX_SCOPE = 'sandbox:events.validate'

const url = (description: string) => Type.String({ format: 'uri', description })

export const SandboxKey = named(
  'SandboxKey',
  Type.Object(
    {
      api_key: Type.String({ pattern: '^sbx_test_', description: 'Valid until `expires_at`.' }),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer({ minimum: 1, description: 'Seconds.' }),
      expires_at: timestamp('When the key stops working.'),
      scope: Type.Literal(SANDBOX_SCOPE),
      production_access: Type.Literal(false),
      use: named(
        'SandboxKeyUse',
        Type.Object({
          method: Type.Literal('POST'),
          url: url('What the key gives access to.'),
          authorization: Type.String({
            description: 'The Authorization header, ready to be sent.',
          }),
        }),
      ),
    },
    { description: 'A short-lived key that needs no approval and is not stored.' },
  ),
)
export type SandboxKey = Static<typeof SandboxKey>

const SandboxTrialEvent = named(
  'SandboxTrialEvent',
  Type.Object({
    event_id: Type.String(),
    event_name: Type.String(),
    action_source: Type.String(),
    value_data: named(
      'SandboxTrialValue',
      Type.Object({ value: Type.String(), currency: Type.String(), order_id: Type.String() }),
    ),
  }),
)

export const SandboxDiscovery = named(
  'SandboxDiscovery',
  Type.Object({
    environment: Type.Literal('sandbox'),
    authentication_required: Type.Literal(true, {
      description: 'Validation requires a sandbox key; `self_serve_key` has one.',
    }),
    account_required: Type.Literal(false),
    production_data: Type.Literal(false),
    persists_data: Type.Literal(false),
    provider_delivery: Type.Literal(false),
    description: Type.String(),
    self_serve_key: named(
      'SandboxSelfServeKey',
      Type.Object({
        method: Type.Literal('POST'),
        url: url('Where to get another key.'),
        authentication_required: Type.Literal(false),
        description: Type.String(),
        issued_key: SandboxKey,
      }),
    ),
    try: named(
      'SandboxTrialRequest',
      Type.Object({
        method: Type.Literal('POST'),
        url: url('Where to send the body.'),
        content_type: Type.Literal('application/json'),
        body: SandboxTrialEvent,
      }),
    ),
  }),
)
export type SandboxDiscovery = Static<typeof SandboxDiscovery>

const SandboxConsentEvent = named(
  'SandboxConsentEvent',
  Type.Object({
    ...ConsentEvent.properties,
    consent_basis: Type.Optional(
      Type.Literal('consent', {
        description: 'The default. POST /events requires it.',
      }),
    ),
  }),
)

/**
 * The body of POST /sandbox/keyed-events: that of POST /events, but `consent_basis` may be left
 * out.
 */
export const SandboxEventSubmission = named(
  'SandboxEventSubmission',
  Type.Unsafe<Static<typeof SandboxConsentEvent> | Static<typeof LegitimateInterestEvent>>({
    anyOf: [SandboxConsentEvent, LegitimateInterestEvent],
  }),
)
export type SandboxEventSubmission = Static<typeof SandboxEventSubmission>

export const SandboxEventResult = named(
  'SandboxEventResult',
  Type.Object({
    sandbox: Type.Literal(true),
    accepted: Type.Literal(true),
    event_id: Type.String({
      description: "The caller's id, or a new one if the request has none.",
    }),
    status: Type.Literal('validated'),
    persisted: Type.Literal(false),
    provider_delivery: Type.Literal(false),
    message: Type.String({ description: 'What production would do with this event, and why.' }),
  }),
)
export type SandboxEventResult = Static<typeof SandboxEventResult>
