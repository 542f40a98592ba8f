import {
  AMBIGUOUS_REQUEST_EXAMPLES,
  ERROR_EXAMPLES,
  type OperationExamples,
} from './error-examples.ts'

const WITHDRAWAL_ID = '019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11'

const withdrawal = {
  id: WITHDRAWAL_ID,
  visitor_id: '0d5b2c1e-6f0a-4f4e-9d53-1d6f2f7c8a90',
  platform: null,
  event_id: 'withdrawal-1001',
  origin: 'https://shop.example',
  reaches: 'all_events',
  identifiers: 2,
  first_withdrawn_at: '2026-11-21T11:30:00.000Z',
  withdrawn_at: '2026-11-21T11:30:00.000Z',
  lifted_at: null,
  lift_reason: null,
}

export const LIST_WITHDRAWALS_EXAMPLES: OperationExamples = {
  responses: {
    400: AMBIGUOUS_REQUEST_EXAMPLES,
    401: ERROR_EXAMPLES[401],
    403: ERROR_EXAMPLES[403],
    429: ERROR_EXAMPLES[429],
    500: ERROR_EXAMPLES[500],
    503: ERROR_EXAMPLES[503],
    200: {
      one: {
        summary: 'A visitor refused in the banner',
        value: { withdrawals: [withdrawal], next_cursor: null },
      },
    },
    422: {
      state: {
        summary: 'An unknown state',
        value: {
          message: 'The state field must be "in_force" or "lifted".',
          errors: { state: ['The state field must be "in_force" or "lifted".'] },
        },
      },
    },
  },
}

export const LIFT_WITHDRAWALS_EXAMPLES: OperationExamples = {
  request: {
    one: {
      summary: 'A forged withdrawal',
      value: { withdrawal_ids: [WITHDRAWAL_ID], reason: 'Sent by a script, not by visitors.' },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      lifted: {
        summary: 'Three deliveries are sent after all',
        value: {
          lifted: 1,
          already_lifted: 0,
          not_found: [],
          queued: 3,
          expired: 0,
          still_withheld: 0,
          capped: false,
        },
      },
    },
    422: {
      no_reason: {
        summary: 'Without a reason',
        value: {
          message: 'The reason field is required.',
          errors: { reason: ['The reason field is required.'] },
        },
      },
    },
  },
}
