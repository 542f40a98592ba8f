import Type, { type Static } from 'typebox'
import { FieldErrors, ValidationError, WRITE_ERRORS } from './errors.ts'
import { EVENT_CREDENTIALS, KeyInQuery } from './event-credentials.ts'
import { named } from './scalars.ts'
import { EventSubmission, IngestionNotice, IngestionWarning } from './submissions.ts'

/** The most events of one batch. */
export const BATCH_EVENTS_MAX = 200
/** The most events of a batch with a publishable key, which anyone can copy. */
export const PAGE_BATCH_EVENTS_MAX = 20
/** The largest batch in bytes, before and after it is decompressed. */
export const BATCH_BYTES_MAX = 1_048_576

/** A batch as a list of lines, each of them the JSON of one event. */
export const NDJSON_MEDIA_TYPE = 'application/x-ndjson'

/** The body of POST /events/batch. */
export const EventBatchSubmission = named(
  'EventBatchSubmission',
  Type.Object({
    events: Type.Array(EventSubmission, {
      minItems: 1,
      maxItems: BATCH_EVENTS_MAX,
      description:
        `At most ${PAGE_BATCH_EVENTS_MAX} with a publishable key. Each event has at most 64 KiB ` +
        'and is accepted or refused for itself, in the order of the list.',
    }),
  }),
)

/** The result of one event. Its members are those of the response of createEvent. */
export const EventResult = named(
  'EventResult',
  Type.Object({
    status: Type.Integer({
      minimum: 200,
      maximum: 503,
      description:
        'The status that createEvent would have had. 202: stored. 200: a duplicate. 400 and 422: ' +
        'refused, whenever it is sent. 429 and 503: not stored; send this event again.',
    }),
    event_id: Type.Optional(Type.String({ description: 'Of a stored event or a duplicate.' })),
    duplicate: Type.Optional(Type.Boolean({ description: 'Of a stored event or a duplicate.' })),
    warnings: Type.Optional(Type.Array(IngestionWarning)),
    notices: Type.Optional(Type.Array(IngestionNotice)),
    message: Type.Optional(Type.String({ description: 'Why the event is not stored.' })),
    errors: Type.Optional(FieldErrors),
    retry_after: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Of 429 and 503: seconds to wait.' }),
    ),
  }),
)
export type EventResult = Static<typeof EventResult>

export const EventBatchResult = named(
  'EventBatchResult',
  Type.Object({
    results: Type.Array(EventResult, {
      description: 'One for each event of the request, in the same order.',
    }),
  }),
)
export type EventBatchResult = Static<typeof EventBatchResult>

/**
 * An extension of the contract: many events in one request. It is not one of the ten operations,
 * and a service of an earlier version answers 404 or 405.
 */
export const createEvents = {
  method: 'POST',
  url: '/events/batch',
  config: {
    operationId: 'createEvents',
    summary: 'Submit many conversion events',
    description:
      'Stores each event as createEvent would, in the order of the list, and answers for each. ' +
      'The request is 200 when it could be read, also if its events are refused: read the ' +
      'status of each result, and send those with 429 or 503 again. A retry of the whole batch ' +
      'stores nothing twice when every event has an `event_id`. The body may be compressed with ' +
      `gzip or zstd, and may be \`${NDJSON_MEDIA_TYPE}\`: one event a line, where a line that is ` +
      'no JSON refuses only itself. An older service answers 404 or 405: send single events.',
    tag: 'Event batches',
    credential: 'tracker_or_publishable',
    security: EVENT_CREDENTIALS,
    requestHeaders: [],
    responseHeaders: [],
    requestMediaTypes: ['application/json', NDJSON_MEDIA_TYPE],
  },
  schema: {
    querystring: Type.Object({ key: Type.Optional(KeyInQuery) }),
    body: EventBatchSubmission,
    response: { 200: EventBatchResult, ...WRITE_ERRORS, 422: ValidationError },
  },
} as const
