import { ERROR_EXAMPLES } from './error-examples.ts'
import type { OperationExamples } from './operation-examples.ts'

export const REPLAY_DELIVERIES_EXAMPLES: OperationExamples = {
  request: {
    everything: { summary: 'Whatever failed', value: {} },
    some: {
      summary: 'Some purchases',
      value: { delivery_ids: [1, 2], event_name: 'Purchase', limit: 100 },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      nothing: {
        summary: 'Nothing had failed',
        value: { queued: 0, expired: 0, payload_expired: 0, capped: false },
      },
      some: {
        summary: 'Two go out again, one is too old',
        value: { queued: 2, expired: 1, payload_expired: 0, capped: false },
      },
    },
    422: {
      limit_too_high: {
        summary: 'More than one request may ask for',
        value: {
          message: 'The limit field must not be greater than 10000.',
          errors: { limit: ['The limit field must not be greater than 10000.'] },
        },
      },
    },
  },
}
