import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'

const ErasureReceipt = named(
  'ErasureReceipt',
  Type.Object({
    id: Type.String({ description: 'As `deletion_request_id` of deleteUserData.' }),
    requests: Type.Integer({ description: 'How often the person was erased.' }),
    events_updated: Type.Integer({ description: 'Events that lost their identity, in total.' }),
    sessions_updated: Type.Integer({ description: 'Deleted sessions, in total.' }),
    created_at: timestamp('When the first request was completed.'),
    completed_at: timestamp('When the last request was completed.'),
  }),
)
export type ErasureReceipt = Static<typeof ErasureReceipt>

export const ErasureReceiptList = named(
  'ErasureReceiptList',
  Type.Object({
    receipts: Type.Array(ErasureReceipt, {
      description: 'The newest first. They do not tell who was erased.',
    }),
    next_cursor: nullable(
      Type.String({ description: '`?cursor=` for older receipts; null on the last page.' }),
    ),
  }),
)
export type ErasureReceiptList = Static<typeof ErasureReceiptList>
