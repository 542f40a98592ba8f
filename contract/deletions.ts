import Type, { type Static } from 'typebox'
import { named, timestamp } from './scalars.ts'

export const IDENTIFIER_TYPES = ['email', 'phone', 'external_id'] as const

/** SHA-256 in hexadecimal, of any case. */
export const DIGEST_PATTERN = '^[0-9A-Fa-f]{64}$'

export const DeletionSubmission = named(
  'DeletionSubmission',
  Type.Object({
    identifier_hash: Type.String({
      pattern: DIGEST_PATTERN,
      description: 'SHA-256 of one normalised identifier, as 64 hexadecimal digits of any case.',
    }),
    identifier_type: Type.Optional(
      Type.Unsafe<(typeof IDENTIFIER_TYPES)[number]>({
        type: 'string',
        enum: [...IDENTIFIER_TYPES],
        description: 'What it is a digest of; every kind when it is left out.',
      }),
    ),
  }),
)
export type DeletionSubmission = Static<typeof DeletionSubmission>

export const DeletionResult = named(
  'DeletionResult',
  Type.Object({
    deletion_request_id: Type.String({ description: 'The same for every repetition.' }),
    duplicate: Type.Boolean({ description: 'The same digest was deleted before.' }),
    events_updated: Type.Integer({ minimum: 0 }),
    sessions_updated: Type.Integer({ minimum: 0 }),
    completed_at: timestamp('When the deletion was completed.'),
  }),
)
export type DeletionResult = Static<typeof DeletionResult>
