import Type, { type Static } from 'typebox'
import { READ_ERRORS, ValidationError, WRITE_ERRORS } from './errors.ts'
import { named, nullable, stringEnum, timestamp } from './scalars.ts'

export const WITHDRAWALS_PER_PAGE = 50
/** The most withdrawals that one request lifts. */
export const LIFTED_MAX = 100

/** In either case. */
const UUID_PATTERN = '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'

const WITHDRAWAL_REACHES = ['all_events', 'page_events'] as const

export const PageWithdrawal = named(
  'PageWithdrawal',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    visitor_id: Type.String({ description: 'The visitor whose page withdrew consent.' }),
    platform: nullable(
      Type.String({
        description: 'The platform that the visitor refuses, as in the `type` of destinations.',
      }),
    ),
    event_id: Type.String({
      description: 'Of the latest consent_withdrawal: getEvent with `space=publishable` reads it.',
    }),
    origin: nullable(Type.String({ description: 'The `Origin` header of the page.' })),
    reaches: stringEnum(WITHDRAWAL_REACHES, {
      description:
        'all_events: the visitor_id is a random UUID, which nobody guesses, so events of the ' +
        'tracker secret are withheld too. page_events: events that pages send.',
    }),
    identifiers: Type.Integer({
      minimum: 0,
      description: 'Identifiers of the visitor, from events of the secret, that it reaches.',
    }),
    first_withdrawn_at: timestamp('When the visitor withdrew first.'),
    withdrawn_at: timestamp('When the visitor withdrew last.'),
    lifted_at: nullable(timestamp('When it was lifted; null while it is in force.')),
    lift_reason: nullable(Type.String()),
  }),
)
export type PageWithdrawal = Static<typeof PageWithdrawal>

export const PageWithdrawalList = named(
  'PageWithdrawalList',
  Type.Object({
    withdrawals: Type.Array(PageWithdrawal, { description: 'The latest first.' }),
    next_cursor: nullable(
      Type.String({ description: '`?cursor=` for earlier ones; null on the last page.' }),
    ),
  }),
)
export type PageWithdrawalList = Static<typeof PageWithdrawalList>

export const PageWithdrawalQuery = Type.Object({
  visitor_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Only of this visitor.' }),
  ),
  state: Type.Optional(
    stringEnum(['in_force', 'lifted'] as const, { description: 'Only these; all if omitted.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      format: 'uuid',
      pattern: UUID_PATTERN,
      description: 'The `next_cursor` of a page before.',
    }),
  ),
})
export type PageWithdrawalQuery = Static<typeof PageWithdrawalQuery>

export const LiftSubmission = named(
  'LiftSubmission',
  Type.Object(
    {
      withdrawal_ids: Type.Array(Type.String({ format: 'uuid', pattern: UUID_PATTERN }), {
        minItems: 1,
        maxItems: LIFTED_MAX,
        uniqueItems: true,
      }),
      reason: Type.String({
        minLength: 1,
        maxLength: 500,
        description: 'Why, for those who read it later. Without names, addresses and numbers.',
      }),
    },
    { additionalProperties: false },
  ),
)
export type LiftSubmission = Static<typeof LiftSubmission>

export const LiftResult = named(
  'LiftResult',
  Type.Object({
    lifted: Type.Integer({ minimum: 0, description: 'Withdrawals that were in force.' }),
    already_lifted: Type.Integer({ minimum: 0 }),
    not_found: Type.Array(Type.String(), {
      description: 'IDs that are no withdrawal of a page of this tracker.',
    }),
    queued: Type.Integer({
      minimum: 0,
      description: 'Deliveries that only these withdrawals had stopped: queued to be sent.',
    }),
    expired: Type.Integer({
      minimum: 0,
      description: 'Not queued: the event is too old for the platform.',
    }),
    still_withheld: Type.Integer({
      minimum: 0,
      description:
        'Not queued: another withdrawal or an erasure reaches the person, or the destination ' +
        'does not select the event.',
    }),
    capped: Type.Boolean({
      description: 'More deliveries were stopped than one request queues. Lift again for the rest.',
    }),
  }),
)
export type LiftResult = Static<typeof LiftResult>

const CONFIG = { tag: 'Withdrawals', credential: 'tracker', requestHeaders: [] } as const

/**
 * What a shop does about withdrawals that pages sent with a publishable key, which anyone can copy.
 * Not among the ten operations of the REST contract.
 */
export const listWithdrawals = {
  method: 'GET',
  url: '/withdrawals',
  config: {
    ...CONFIG,
    operationId: 'listWithdrawals',
    summary: 'List the withdrawals of consent that pages sent',
    description:
      'One for each visitor, and one for each platform where a page named platforms. Withdrawals ' +
      'of the tracker secret are not listed: they cannot be lifted.',
    responseHeaders: [],
  },
  schema: {
    querystring: PageWithdrawalQuery,
    response: { 200: PageWithdrawalList, ...READ_ERRORS, 422: ValidationError },
  },
} as const

export const liftWithdrawals = {
  method: 'POST',
  url: '/withdrawals/lift',
  config: {
    ...CONFIG,
    operationId: 'liftWithdrawals',
    summary: 'Lift withdrawals that pages sent',
    description:
      'For withdrawals that the visitors did not make. Deliveries that only these stopped, and ' +
      'that the platform still accepts, are queued. The audit log records who lifted which ' +
      'withdrawal; the reason stands with the withdrawal.',
    responseHeaders: [],
  },
  schema: {
    body: LiftSubmission,
    response: { 200: LiftResult, ...WRITE_ERRORS, 422: ValidationError },
  },
} as const

export const WITHDRAWAL_OPERATIONS = [listWithdrawals, liftWithdrawals] as const
