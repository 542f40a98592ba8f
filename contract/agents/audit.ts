import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'

export const AuditLogEntry = named(
  'AuditLogEntry',
  Type.Object({
    sequence: Type.Integer({ minimum: 1 }),
    at: timestamp('When it happened.'),
    actor: Type.Object({
      type: Type.String(),
      id: nullable(Type.String()),
      name: nullable(Type.String({ description: 'As it is called now; null when it is gone.' })),
    }),
    action: Type.String({ description: 'Such as action.approved.' }),
    subject: Type.Object({ type: Type.String(), id: Type.String() }),
    details: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
)
export type AuditLogEntry = Static<typeof AuditLogEntry>

/** A part of the log, newest first. */
export const AuditPage = named(
  'AuditPage',
  Type.Object({
    entries: Type.Array(AuditLogEntry),
    next_before: nullable(
      Type.Integer({ description: 'Ask with `before` for what is older; null: there is nothing.' }),
    ),
  }),
)
export type AuditPage = Static<typeof AuditPage>

/** What a walk along the whole chain found. */
export const AuditVerification = named(
  'AuditVerification',
  Type.Object({
    is_intact: Type.Boolean(),
    entries: Type.Integer({ description: 'How many were read.' }),
    broken_at: nullable(Type.Integer({ description: 'The first one that is wrong or missing.' })),
    finding: Type.String({ description: 'One sentence.' }),
    verified_at: timestamp('When.'),
  }),
)
export type AuditVerification = Static<typeof AuditVerification>
