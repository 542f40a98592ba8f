import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'

export const AUDIT_SUBJECT_CHARACTERS_MAX = 100
const AUDIT_SEQUENCE_MAX = 999_999_999_999_999

export const AuditLogEntry = named(
  'AuditLogEntry',
  Type.Object({
    sequence: Type.Integer({ minimum: 1 }),
    at: timestamp('When it happened.'),
    actor: Type.Object({
      type: Type.String(),
      id: nullable(Type.String()),
      name: nullable(
        Type.String({
          description: 'Its current name, of a person the email; null if it no longer exists.',
        }),
      ),
    }),
    action: Type.String({ description: 'For example action.approved.' }),
    subject: Type.Object({ type: Type.String(), id: Type.String() }),
    details: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
)
export type AuditLogEntry = Static<typeof AuditLogEntry>

/** The query of a page of the log. */
export const AuditQuery = Type.Object({
  before: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: AUDIT_SEQUENCE_MAX,
      description: 'Only entries older than this sequence.',
    }),
  ),
  action: Type.Optional(Type.String()),
  subject_type: Type.Optional(Type.String()),
  subject_id: Type.Optional(Type.String({ maxLength: AUDIT_SUBJECT_CHARACTERS_MAX })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: AUDIT_SEQUENCE_MAX,
      description: 'Entries per page; larger values are capped at 200.',
    }),
  ),
})

/** A page of the log, newest first. */
export const AuditPage = named(
  'AuditPage',
  Type.Object({
    entries: Type.Array(AuditLogEntry),
    subject_names: Type.Array(
      Type.Object({ type: Type.String(), id: Type.String(), name: Type.String() }),
      { description: 'Current names of what the entries are about; of a key, of its tracker.' },
    ),
    next_before: nullable(
      Type.Integer({
        description: 'Pass it as `before` to read older entries; null if there are none.',
      }),
    ),
  }),
)
export type AuditPage = Static<typeof AuditPage>

/** The result of verifying the whole chain. */
export const AuditVerification = named(
  'AuditVerification',
  Type.Object({
    is_intact: Type.Boolean(),
    entries: Type.Integer({ description: 'Number of entries read.' }),
    broken_at: nullable(Type.Integer({ description: 'The first entry that is wrong or missing.' })),
    finding: Type.String({ description: 'One sentence.' }),
    verified_at: timestamp('When it was verified.'),
  }),
)
export type AuditVerification = Static<typeof AuditVerification>
