import Type from 'typebox'
import { MessageError, ValidationError } from './errors.ts'
import { EventDetail } from './events.ts'
import { DuplicateEvent, EventSubmission, NewEvent, NewVerification } from './submissions.ts'

/** Where every operation below lives, under the public origin. */
export const BASE_PATH = '/api/v1'

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
      'can be sent again without counting twice.',
    credential: 'tracker',
    requestHeaders: ['Idempotency-Key'],
    responseHeaders: ['Location', 'Idempotency-Key'],
  },
  schema: {
    body: EventSubmission,
    response: {
      200: DuplicateEvent,
      202: NewEvent,
      400: MessageError,
      401: MessageError,
      403: MessageError,
      413: MessageError,
      415: MessageError,
      422: ValidationError,
      500: MessageError,
      503: MessageError,
    },
  },
} as const

export const verifySignalIngestion = {
  method: 'POST',
  url: '/verification-events',
  config: {
    operationId: 'verifySignalIngestion',
    summary: 'Prove that the tracker can write to the event ledger',
    description:
      'Records one event without identity, once a tracker. It is delivered nowhere and is no ' +
      'evidence that real events arrive.',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: ['Location'],
  },
  schema: {
    response: {
      200: DuplicateEvent,
      202: NewVerification,
      400: MessageError,
      401: MessageError,
      403: MessageError,
      413: MessageError,
      415: MessageError,
      500: MessageError,
      503: MessageError,
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
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: {
    params: Type.Object({ event: Type.String({ description: 'Percent-encoded event id.' }) }),
    response: {
      200: EventDetail,
      400: MessageError,
      401: MessageError,
      403: MessageError,
      404: MessageError,
      500: MessageError,
      503: MessageError,
    },
  },
} as const

export const OPERATIONS = [createEvent, verifySignalIngestion, getEvent] as const
export type Operation = (typeof OPERATIONS)[number]
