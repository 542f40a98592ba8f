import Type, { type Static } from 'typebox'
import { named, stringEnum, timestamp } from './scalars.ts'

const IDENTIFIER_TYPES = ['email', 'phone', 'external_id'] as const

/** SHA-256 in hexadecimal, in any case. */
export const DIGEST_PATTERN = '^[0-9A-Fa-f]{64}$'

export const DeletionSubmission = named(
  'DeletionSubmission',
  Type.Object({
    identifier_hash: Type.String({
      pattern: DIGEST_PATTERN,
      description: 'SHA-256 of one normalized identifier: 64 hexadecimal digits in any case.',
    }),
    identifier_type: Type.Optional(
      stringEnum(IDENTIFIER_TYPES, {
        description: 'The kind of identifier; all kinds if omitted.',
      }),
    ),
  }),
)
export type DeletionSubmission = Static<typeof DeletionSubmission>

export const DeletionResult = named(
  'DeletionResult',
  Type.Object({
    deletion_request_id: Type.String({ description: 'The same for every repeated request.' }),
    duplicate: Type.Boolean({ description: 'The same digest was deleted before.' }),
    events_updated: Type.Integer({ minimum: 0 }),
    sessions_updated: Type.Integer({ minimum: 0 }),
    completed_at: timestamp('When the deletion was completed.'),
  }),
)
export type DeletionResult = Static<typeof DeletionResult>
