import { describeBodyTooLarge } from '../errors.ts'
import { BATCH_BYTES_MAX, NDJSON_MEDIA_TYPE } from '../event-batches.ts'
import { CREATE_EVENT_EXAMPLES } from './create-event-examples.ts'
import type { OperationExamples } from './error-examples.ts'
import { ERROR_EXAMPLES } from './error-examples.ts'

const { purchase, withdrawal } = CREATE_EVENT_EXAMPLES.request as Record<string, { value: object }>

const NO_CURRENCY = 'The value_data.currency field is required with a value.'

export const CREATE_EVENTS_EXAMPLES: OperationExamples = {
  request: {
    batch: {
      summary: 'A purchase, the same purchase without a currency, and a withdrawal',
      value: {
        events: [
          purchase?.value,
          {
            event_id: 'order-1003',
            event_name: 'Purchase',
            consent_basis: 'consent',
            consent: { advertising: 'granted', captured_at: '2026-11-21T11:00:00Z' },
            value_data: { value: '5' },
          },
          withdrawal?.value,
        ],
      },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      batch: {
        summary: 'Two events are stored, and one is refused for good',
        value: {
          results: [
            {
              status: 202,
              event_id: 'order-1001',
              duplicate: false,
              warnings: [],
              notices: [],
            },
            {
              status: 422,
              message: NO_CURRENCY,
              errors: { 'value_data.currency': [NO_CURRENCY] },
            },
            {
              status: 202,
              event_id: 'withdrawal-7f3a',
              duplicate: false,
              warnings: [],
              notices: [],
            },
          ],
        },
      },
    },
    413: {
      too_large: {
        summary: 'Too large',
        value: { message: describeBodyTooLarge(BATCH_BYTES_MAX) },
      },
    },
    415: {
      wrong_type: {
        summary: 'Another media type',
        value: { message: `Send the body as application/json or ${NDJSON_MEDIA_TYPE}.` },
      },
    },
    422: {
      empty: {
        summary: 'No event',
        value: {
          message: 'The events field must not be empty.',
          errors: { events: ['The events field must not be empty.'] },
        },
      },
    },
  },
}
