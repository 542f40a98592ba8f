import Type from 'typebox'
import { AGENT_ACTION_OPERATIONS } from './agent-action-operations.ts'
import { AGENT_OPERATIONS } from './agent-operations.ts'
import {
  TestMode,
  TestModeSubmission,
  TestPurchase,
  TestPurchaseError,
  TestPurchaseSubmission,
} from './destinations.ts'
import { MessageError, READ_ERRORS, ValidationError, WRITE_ERRORS } from './errors.ts'
import { createEvents } from './event-batches.ts'
import { EVENT_CREDENTIALS, KeyInQuery } from './event-credentials.ts'
import { EventDetail, EventSpaceQuery } from './events.ts'
import { ReplayResult, ReplaySubmission } from './replays.ts'
import {
  deleteUserData,
  getEmqReport,
  getReconciliationReport,
  listEvents,
} from './report-operations.ts'
import { SANDBOX_OPERATIONS } from './sandbox-operations.ts'
import { DuplicateEvent, EventSubmission, NewEvent, NewVerification } from './submissions.ts'
import { WITHDRAWAL_OPERATIONS } from './withdrawals.ts'

/** The path of every operation below, under the public origin. */
export const BASE_PATH = '/api/v1'

const DestinationPath = Type.Object({
  destination: Type.String({ description: "A destination's id." }),
})

/**
 * The operations of the REST contract. Each has the shape of a Fastify route, so that the service
 * spreads it (`app.route({ ...createEvent, handler })`) and cannot drift from the document.
 */
export const createEvent = {
  method: 'POST',
  url: '/events',
  config: {
    operationId: 'createEvent',
    summary: 'Submit one conversion event',
    description:
      'Stores the event durably and plans its deliveries, or reports that an event with this id ' +
      'already exists. Choose the id of every event yourself, so that you can retry a request ' +
      'that got no response without counting the event twice. Pages send with a publishable key ' +
      'from an origin registered for that key (CORS); their `user_data` must not contain the IP ' +
      'address or user agent of the browser, which come from the trusted edge.',
    tag: 'Events',
    credential: 'tracker_or_publishable',
    security: EVENT_CREDENTIALS,
    requestHeaders: ['Idempotency-Key'],
    responseHeaders: ['Location', 'Idempotency-Key'],
  },
  schema: {
    querystring: Type.Object({ key: Type.Optional(KeyInQuery) }),
    body: EventSubmission,
    response: {
      200: DuplicateEvent,
      202: NewEvent,
      ...WRITE_ERRORS,
      422: ValidationError,
    },
  },
} as const

export const verifySignalIngestion = {
  method: 'POST',
  url: '/verification-events',
  config: {
    operationId: 'verifySignalIngestion',
    summary: 'Verify that the tracker can write to the event ledger',
    description:
      'Records one event without identity, once per tracker. It is never delivered and does not ' +
      'prove that real events arrive.',
    tag: 'Events',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: ['Location'],
  },
  schema: {
    response: {
      200: DuplicateEvent,
      202: NewVerification,
      ...WRITE_ERRORS,
    },
  },
} as const

export const getEvent = {
  method: 'GET',
  url: '/events/:event',
  config: {
    operationId: 'getEvent',
    summary: 'Read one event with its lineage and its deliveries',
    description:
      'Each member of `deliveries` explains in one sentence what happened, why, and what ' +
      'happens next.',
    tag: 'Events',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: ['Content-Location'],
  },
  schema: {
    params: Type.Object({ event: Type.String({ description: 'Percent-encoded event id.' }) }),
    querystring: EventSpaceQuery,
    response: {
      200: EventDetail,
      ...READ_ERRORS,
      404: MessageError,
      422: ValidationError,
    },
  },
} as const

export const setDestinationTestMode = {
  method: 'PATCH',
  url: '/destinations/:destination/test-mode',
  config: {
    operationId: 'setDestinationTestMode',
    summary: "Turn a destination's test mode on or off",
    description:
      'While test mode is on, new events are sent as test events with the test event code, ' +
      'apart from live events. It turns off after one day. Deliveries planned earlier do not ' +
      'change.',
    tag: 'Destinations',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: {
    params: DestinationPath,
    body: TestModeSubmission,
    response: { 200: TestMode, ...WRITE_ERRORS, 404: MessageError, 422: ValidationError },
  },
} as const

export const sendTestPurchase = {
  method: 'POST',
  url: '/destinations/:destination/test-purchase',
  config: {
    operationId: 'sendTestPurchase',
    summary: 'Send one test purchase and return the platform response',
    description:
      'Available only while test mode is on. The purchase contains no user data, is stored in ' +
      'the ledger with class `test`, and is excluded from reports. It is sent once, without ' +
      'retries.',
    tag: 'Destinations',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
    isBodyOptional: true,
  },
  schema: {
    params: DestinationPath,
    body: TestPurchaseSubmission,
    response: {
      200: TestPurchase,
      ...WRITE_ERRORS,
      404: MessageError,
      422: TestPurchaseError,
      502: TestPurchase,
    },
  },
} as const

export const replayDeliveries = {
  method: 'POST',
  url: '/deliveries/replay',
  config: {
    operationId: 'replayDeliveries',
    summary: 'Replay failed deliveries',
    description:
      'Queues failed deliveries that the platform may still accept, newest events first. ' +
      'Without a filter, all failed deliveries are considered, up to the limit. A delivery first ' +
      'sent more than 48 hours ago may be counted twice; its explanation mentions this.',
    tag: 'Deliveries',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
    isBodyOptional: true,
  },
  schema: {
    body: ReplaySubmission,
    response: { 200: ReplayResult, ...WRITE_ERRORS, 422: ValidationError },
  },
} as const

export const OPERATIONS = [
  createEvent,
  verifySignalIngestion,
  getEvent,
  listEvents,
  setDestinationTestMode,
  sendTestPurchase,
  replayDeliveries,
  getReconciliationReport,
  getEmqReport,
  deleteUserData,
] as const

/** Everything in the OpenAPI document: the REST contract, the sandbox and the agents. */
export const DOCUMENTED_OPERATIONS = [
  ...OPERATIONS,
  createEvents,
  ...WITHDRAWAL_OPERATIONS,
  ...SANDBOX_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...AGENT_ACTION_OPERATIONS,
] as const
export type DocumentedOperation = (typeof DOCUMENTED_OPERATIONS)[number]
