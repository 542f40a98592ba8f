import Type from 'typebox'
import { AGENT_ACTION_OPERATIONS } from './agent-action-operations.ts'
import { AGENT_OPERATIONS } from './agent-operations.ts'
import {
  TestMode,
  TestModeSubmission,
  TestPurchase,
  TestPurchaseSubmission,
} from './destinations.ts'
import { MessageError, READ_ERRORS, ValidationError, WRITE_ERRORS } from './errors.ts'
import { EventDetail } from './events.ts'
import { ReplayResult, ReplaySubmission } from './replays.ts'
import {
  deleteUserData,
  getEmqReport,
  getReconciliationReport,
  listEvents,
} from './report-operations.ts'
import { SANDBOX_OPERATIONS } from './sandbox-operations.ts'
import { DuplicateEvent, EventSubmission, NewEvent, NewVerification } from './submissions.ts'

/** Where every operation below lives, under the public origin. */
export const BASE_PATH = '/api/v1'

const DestinationPath = Type.Object({
  destination: Type.String({ description: "A destination's id." }),
})

/** OpenAPI, Security Requirement: any one of these. */
const EVENT_CREDENTIALS: readonly Record<string, readonly string[]>[] = [
  { trackerSecret: [] },
  { publishableKey: [] },
  { publishableKeyInQuery: [] },
]

const KeyInQuery = Type.String({
  pattern: '^sbx_pk_[0-9a-f]{72}$',
  description:
    'A publishable key, for beacons, which carry no Authorization header. Never a tracker secret.',
})

/**
 * The operations of the REST contract. Each has the shape of a Fastify route, so that the service
 * spreads it (`app.route({ ...createEvent, handler })`) and cannot drift from what is printed.
 */
export const createEvent = {
  method: 'POST',
  url: '/events',
  config: {
    operationId: 'createEvent',
    summary: 'Submit one conversion event',
    description:
      'Stores the event durably and plans its deliveries, or answers that an event with this id ' +
      'is there already. Give every event an id of your own: then a request that got no answer ' +
      'can be sent again without counting twice. Pages send with a publishable key, from an ' +
      'origin that is registered with it (CORS); their `user_data` may hold neither the address ' +
      'nor the user agent of the browser, which come from the trusted edge.',
    tag: 'Events',
    credential: 'tracker_or_publishable',
    security: EVENT_CREDENTIALS,
    takesText: true,
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
      'Records one event without identity, once per tracker. It is never delivered and is no ' +
      'evidence that real events arrive.',
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
    responseHeaders: [],
  },
  schema: {
    params: Type.Object({ event: Type.String({ description: 'Percent-encoded event id.' }) }),
    querystring: Type.Object({
      space: Type.Optional(
        Type.Union([Type.Literal('secret'), Type.Literal('publishable')], {
          description:
            'Whose event ids are meant: those that a tracker secret sent, or those that a ' +
            "publishable key sent. Without it the secret's event is read, else the page's.",
        }),
      ),
    }),
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
    summary: "Switch a destination's test mode",
    description:
      'While it is on, new events go out as test events, with the test event code, apart from ' +
      'live ones. It switches itself off after a day. Events that wait already keep what they ' +
      'are.',
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
    summary: 'Send one controlled test purchase and return the platform response',
    description:
      'Only while test mode is on. The purchase names no person, is kept in the ledger with ' +
      'class `test`, and counts in no report. It is tried once.',
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
      422: Type.Union([ValidationError, MessageError]),
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
      'Looks at failed deliveries, the newest events first, and queues those that the platform ' +
      'may still take. Without a filter it looks at all of them, up to the limit. A delivery ' +
      'that was first sent more than 48 hours ago may count twice; its explanation says so.',
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
export type Operation = (typeof OPERATIONS)[number]

/** What the document describes: the REST contract, and the sandbox and agents beside it. */
export const DOCUMENTED_OPERATIONS = [
  ...OPERATIONS,
  ...SANDBOX_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...AGENT_ACTION_OPERATIONS,
] as const
export type DocumentedOperation = (typeof DOCUMENTED_OPERATIONS)[number]
