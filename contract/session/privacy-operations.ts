import { DeletionResult, DeletionSubmission } from '../deletions.ts'
import { MessageError } from '../errors.ts'
import {
  LiftResult,
  LiftSubmission,
  PageWithdrawalList,
  PageWithdrawalQuery,
} from '../withdrawals.ts'
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

/** listWithdrawals by a person. */
export const listPageWithdrawals = query('listPageWithdrawals', `${TRACKER_PATH}/withdrawals`, {
  querystring: PageWithdrawalQuery,
  response: { 200: PageWithdrawalList, ...ALL_REFUSALS },
})
/** liftWithdrawals by a person. */
export const liftPageWithdrawals = write(
  'liftPageWithdrawals',
  `POST ${TRACKER_PATH}/withdrawals/lift`,
  { body: LiftSubmission, response: { 200: LiftResult, ...ALL_REFUSALS } },
)

export const PRIVACY_OPERATIONS = [
  eraseUserData,
  listErasureReceipts,
  listPageWithdrawals,
  liftPageWithdrawals,
] as const
