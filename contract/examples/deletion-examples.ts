import type { OperationExamples } from './error-examples.ts'
import { ERROR_EXAMPLES } from './error-examples.ts'

/** SHA-256 of jane@example.com, as in the events of the other examples. */
const DIGEST = '8c87b489ce35cf2e2f39f80e282cb2e804932a56a213983eeeb428407d43b52d'

const deletion = {
  deletion_request_id: 'del_019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11',
  duplicate: false,
  events_updated: 3,
  sessions_updated: 1,
  completed_at: '2026-11-21T12:00:00.000Z',
}

export const DELETE_USER_DATA_EXAMPLES: OperationExamples = {
  request: {
    any: { summary: 'By the digest of any identifier', value: { identifier_hash: DIGEST } },
    email: {
      summary: 'By the digest of an email address',
      value: { identifier_hash: DIGEST, identifier_type: 'email' },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      erased: { summary: 'Three events and a session lost their identity', value: deletion },
      again: {
        summary: 'Asked again: nothing was left',
        value: {
          ...deletion,
          duplicate: true,
          events_updated: 0,
          sessions_updated: 0,
          completed_at: '2026-11-21T12:05:00.000Z',
        },
      },
    },
    422: {
      no_digest: {
        summary: 'Without a digest',
        value: {
          message: 'The identifier_hash field is required.',
          errors: { identifier_hash: ['The identifier_hash field is required.'] },
        },
      },
    },
  },
}
