import { DeletionResult, DeletionSubmission } from '../deletions.ts'
import { MessageError } from '../errors.ts'
import { ErasureReceiptList } from './privacy.ts'
import { ALL_REFUSALS, CursorQuery, query, write } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

/** deleteUserData by a person. 503: more remains to be erased; send it again. */
export const eraseUserData = write('eraseUserData', `POST ${TRACKER_PATH}/erasures`, {
  body: DeletionSubmission,
  response: { 200: DeletionResult, ...ALL_REFUSALS, 503: MessageError },
})
/** `?cursor=` leads to older receipts. */
export const listErasureReceipts = query('listErasureReceipts', `${TRACKER_PATH}/erasures`, {
  querystring: CursorQuery,
  response: {
    200: ErasureReceiptList,
    ...ALL_REFUSALS,
  },
})

export const PRIVACY_OPERATIONS = [eraseUserData, listErasureReceipts] as const
