import type { DocumentedOperation } from '../operations.ts'
import { AGENT_ACTION_EXAMPLES } from './agent-action-examples.ts'
import { AGENT_EXAMPLES } from './agent-examples.ts'
import { CREATE_EVENT_EXAMPLES, VERIFY_SIGNAL_INGESTION_EXAMPLES } from './create-event-examples.ts'
import { DELETE_USER_DATA_EXAMPLES } from './deletion-examples.ts'
import {
  REPLAY_DELIVERIES_EXAMPLES,
  SEND_TEST_PURCHASE_EXAMPLES,
  SET_DESTINATION_TEST_MODE_EXAMPLES,
} from './destination-examples.ts'
import type { OperationExamples } from './error-examples.ts'
import { CREATE_EVENTS_EXAMPLES } from './event-batch-examples.ts'
import { GET_EVENT_EXAMPLES } from './get-event-examples.ts'
import { LIST_EVENTS_EXAMPLES } from './list-events-examples.ts'
import { GET_EMQ_REPORT_EXAMPLES, GET_RECONCILIATION_REPORT_EXAMPLES } from './report-examples.ts'
import { SANDBOX_EXAMPLES } from './sandbox-examples.ts'
import { LIFT_WITHDRAWALS_EXAMPLES, LIST_WITHDRAWALS_EXAMPLES } from './withdrawal-examples.ts'

export const OPERATION_EXAMPLES: Record<
  DocumentedOperation['config']['operationId'],
  OperationExamples
> = {
  createEvent: CREATE_EVENT_EXAMPLES,
  createEvents: CREATE_EVENTS_EXAMPLES,
  verifySignalIngestion: VERIFY_SIGNAL_INGESTION_EXAMPLES,
  getEvent: GET_EVENT_EXAMPLES,
  listEvents: LIST_EVENTS_EXAMPLES,
  setDestinationTestMode: SET_DESTINATION_TEST_MODE_EXAMPLES,
  sendTestPurchase: SEND_TEST_PURCHASE_EXAMPLES,
  replayDeliveries: REPLAY_DELIVERIES_EXAMPLES,
  getReconciliationReport: GET_RECONCILIATION_REPORT_EXAMPLES,
  getEmqReport: GET_EMQ_REPORT_EXAMPLES,
  deleteUserData: DELETE_USER_DATA_EXAMPLES,
  listWithdrawals: LIST_WITHDRAWALS_EXAMPLES,
  liftWithdrawals: LIFT_WITHDRAWALS_EXAMPLES,
  ...SANDBOX_EXAMPLES,
  ...AGENT_EXAMPLES,
  ...AGENT_ACTION_EXAMPLES,
}
