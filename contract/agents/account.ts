import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'
import { EntityState, rowId } from './actions.ts'
import { ActionPolicy } from './policy.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

/** Answer of get_account_state: for what the credential is good, and the ads as they are now. */
export const AccountState = named(
  'AccountState',
  Type.Object({
    workspace: Type.Object({ id: rowId('The workspace.'), name: Type.String() }),
    ad_account: Type.Object({
      id: rowId("Ours, not the platform's number."),
      name: Type.String(),
      platform: Type.String(),
      currency: Type.String({ description: 'ISO 4217; every *_minor member is in it.' }),
      time_zone: Type.String({ description: 'IANA time zone; days begin in it.' }),
      is_simulated: Type.Boolean({
        description: 'True: campaigns and their changes are a rehearsal; no platform is called.',
      }),
    }),
    credential: Type.Object({
      type: Type.Enum(['connection', 'execution_token']),
      name: Type.String(),
      permissions: Type.Array(Type.String({ enum: ['ad-account.read', 'actions.propose'] })),
      expires_at: timestamp('When the token that was presented ends.'),
    }),
    policy: ActionPolicy,
    entities: Type.Array(EntityState, { description: 'Parents before what belongs to them.' }),
    entities_omitted: count('How many more there are.'),
    pending_actions: count('How many of its actions wait for a person.'),
    read_at: timestamp('When.'),
  }),
)
export type AccountState = Static<typeof AccountState>

const Revenue = Type.Array(
  Type.Object({
    currency: Type.String({ description: 'ISO 4217.' }),
    amount: Type.String({ description: 'Decimal: the sum of what the events said.' }),
  }),
)

/** Answer of get_performance: what we stored and what the platform says, told apart. */
export const Performance = named(
  'Performance',
  Type.Object({
    ad_account_id: rowId('The ad account.'),
    since: Type.String({ format: 'date', description: 'First day, UTC.' }),
    until: Type.String({ format: 'date', description: 'Last day, UTC; it may not be over.' }),
    ledger: Type.Object({
      source: Type.Literal('signalbox_ledger'),
      explanation: Type.String({ description: 'What these figures are and are not.' }),
      events: Type.Array(
        Type.Object({
          event_name: Type.String(),
          stored: count('Events that happened on these days.'),
          accepted: count('Of them, those that the platform took as live events.'),
          revenue: Revenue,
        }),
      ),
    }),
    platform: Type.Object({
      source: Type.Literal('platform_reports'),
      explanation: Type.String(),
      days_reported: count('Days of these for which the platform gave its counts.'),
      events: Type.Array(
        Type.Object({
          event_name: Type.String(),
          counted: count('By the platform, whoever sent them.'),
          sent: count('By us, as the same reports say.'),
        }),
      ),
    }),
  }),
)
export type Performance = Static<typeof Performance>

/** Answer of get_signal_health. */
export const SignalHealth = named(
  'SignalHealth',
  Type.Object({
    ad_account_id: rowId('The ad account.'),
    status: Type.Enum(['healthy', 'degraded', 'not_connected']),
    findings: Type.Array(Type.String({ description: 'One sentence that says what to do.' })),
    trackers: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        last_event_at: nullable(
          Type.String({
            format: 'date-time',
            description: 'Null: nothing was stored yet, but perhaps a verification.',
          }),
        ),
        destinations: Type.Array(
          Type.Object({
            id: Type.String(),
            status: Type.String(),
            status_reason: nullable(Type.String()),
            test_mode: Type.Boolean(),
            last_accepted_at: nullable(
              Type.String({
                format: 'date-time',
                description: 'Null: by none of the newest 10,000 requests of the tracker.',
              }),
            ),
            deliveries_last_day: Type.Unsafe<Record<string, number>>({
              type: 'object',
              additionalProperties: { type: 'integer' },
              description:
                'How many live deliveries stand in which status, of events of the last 24 hours ' +
                '(the newest 20,000 of a tracker).',
            }),
            match_quality: nullable(Type.Number({ description: 'The newest score, 0 to 10.' })),
          }),
        ),
      }),
    ),
    read_at: timestamp('When.'),
  }),
)
export type SignalHealth = Static<typeof SignalHealth>

/** Answer of verify_signal_ingestion. */
export const IngestionVerification = named(
  'IngestionVerification',
  Type.Object({
    verifications: Type.Array(
      Type.Object({
        tracker_id: Type.String(),
        event_id: Type.String(),
        duplicate: Type.Boolean({ description: 'True: it was verified before.' }),
        is_stored: Type.Boolean({ description: 'Read back from the ledger.' }),
      }),
    ),
    explanation: Type.String(),
  }),
)
export type IngestionVerification = Static<typeof IngestionVerification>
