import { ERROR_EXAMPLES } from './error-examples.ts'
import type { OperationExamples } from './operation-examples.ts'

export const VERIFY_SIGNAL_INGESTION_EXAMPLES: OperationExamples = {
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      again: {
        summary: 'Verified before',
        value: { event_id: 'signal-verification', duplicate: true },
      },
    },
    202: {
      first: {
        summary: 'Verified now',
        value: { event_id: 'signal-verification', duplicate: false },
      },
    },
  },
}
