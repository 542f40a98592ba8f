import { BODY_BYTES_MAX, describeBodyTooLarge } from '../errors.ts'

/** The examples of one body, by name (OpenAPI 3.1.0, Example Object). */
export type MediaExamples = Record<string, { summary: string; value: unknown }>

/**
 * The examples of an operation. A 202 response has the name of the request that it answers:
 * `event-responses.test.ts` sends the request and expects that response.
 */
export interface OperationExamples {
  request?: MediaExamples
  responses: Record<number, MediaExamples>
}

/** Errors of a request without a body. */
export const AMBIGUOUS_REQUEST_EXAMPLES: MediaExamples = {
  repeated_header: {
    summary: 'An ambiguous header',
    value: { message: 'The origin header must appear only once.' },
  },
}

/** Error responses shared by all operations, as the service returns them. */
export const ERROR_EXAMPLES = {
  400: {
    not_json: { summary: 'Not JSON', value: { message: 'The body is not valid JSON.' } },
  },
  401: {
    unauthenticated: { summary: 'No valid secret', value: { message: 'Unauthenticated.' } },
  },
  403: {
    from_a_browser: {
      summary: 'A secret in a browser',
      value: {
        message:
          'This tracker secret came from a browser (Origin header), where anyone can read it: ' +
          'revoke it, and send events from your server.',
      },
    },
  },
  413: {
    too_large: {
      summary: 'Too large',
      value: { message: describeBodyTooLarge(BODY_BYTES_MAX) },
    },
  },
  415: {
    wrong_type: {
      summary: 'Another media type',
      value: { message: 'Send the body as application/json.' },
    },
  },
  429: {
    too_fast: {
      summary: 'Rate limit exceeded',
      value: {
        message:
          'Too many requests for this tracker; wait, then retry. An operator can raise ' +
          'SIGNALBOX_TRACKER_RATE_PER_SECOND.',
      },
    },
  },
  500: {
    fault: {
      summary: 'Internal error',
      value: { message: 'Something went wrong on our side; the request id helps us find it.' },
    },
  },
  503: {
    store_away: {
      summary: 'Store unavailable',
      value: { message: 'The store is unavailable; try again.' },
    },
  },
} satisfies Record<number, MediaExamples>
