import {
  Destination,
  TestMode,
  TestModeSubmission,
  TestPurchaseError,
  TestPurchaseSubmission,
} from '../destinations.ts'
import { MessageError } from '../errors.ts'
import { DestinationRouting, RoutingPreview, RoutingSubmission } from '../routing.ts'
import {
  CredentialSubmission,
  DestinationChange,
  DestinationStatusList,
  DestinationSubmission,
  SentTestPurchase,
  TestModeNoticeList,
} from './destinations.ts'
import { ALL_REFUSALS, FOUND_REFUSALS, read, write } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

const DESTINATION_PATH = `${TRACKER_PATH}/destinations/:destination` as const

export const listDestinations = read('listDestinations', `${TRACKER_PATH}/destinations`, {
  200: DestinationStatusList,
  ...FOUND_REFUSALS,
})
/** For the banner of every page of the tracker: the destinations that receive test events. */
export const listTestModes = read('listTestModes', `${TRACKER_PATH}/test-modes`, {
  200: TestModeNoticeList,
  ...FOUND_REFUSALS,
})
export const createDestination = write('createDestination', `POST ${TRACKER_PATH}/destinations`, {
  body: DestinationSubmission,
  response: { 201: Destination, ...ALL_REFUSALS },
})
/** Replaces the access token, and members of `config` if given. Resumes a paused destination. */
export const replaceCredential = write('replaceCredential', `PUT ${DESTINATION_PATH}/credential`, {
  body: CredentialSubmission,
  response: { 200: Destination, ...ALL_REFUSALS },
})
/** Renames, pauses or resumes a destination. */
export const changeDestination = write('changeDestination', `PATCH ${DESTINATION_PATH}`, {
  body: DestinationChange,
  response: { 200: Destination, ...ALL_REFUSALS },
})
/** Tries a paused destination now instead of at its next check. */
export const checkDestination = write('checkDestination', `POST ${DESTINATION_PATH}/check`, {
  response: { 200: Destination, ...ALL_REFUSALS },
})
export const switchTestMode = write('switchTestMode', `PATCH ${DESTINATION_PATH}/test-mode`, {
  body: TestModeSubmission,
  response: { 200: TestMode, ...ALL_REFUSALS },
})
/** Which events the destination gets from now on, and what its platform calls them. */
export const changeRouting = write('changeRouting', `PATCH ${DESTINATION_PATH}/routing`, {
  body: RoutingSubmission,
  response: { 200: DestinationRouting, ...ALL_REFUSALS },
})
/** What the same body would select of the last events, without the change. */
export const previewRouting = write('previewRouting', `POST ${DESTINATION_PATH}/routing/preview`, {
  body: RoutingSubmission,
  response: { 200: RoutingPreview, ...ALL_REFUSALS },
})
/** 200: `status` and `reason` are what the platform answered. 503: no platform is known. */
export const sendPurchase = write('sendPurchase', `POST ${DESTINATION_PATH}/test-purchases`, {
  body: TestPurchaseSubmission,
  response: { 200: SentTestPurchase, ...FOUND_REFUSALS, 422: TestPurchaseError, 503: MessageError },
})

export const DESTINATION_OPERATIONS = [
  ...[listDestinations, listTestModes, createDestination, replaceCredential],
  ...[
    changeDestination,
    checkDestination,
    switchTestMode,
    sendPurchase,
    changeRouting,
    previewRouting,
  ],
] as const
