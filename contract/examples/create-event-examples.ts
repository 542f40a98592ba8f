import type { OperationExamples } from './error-examples.ts'
import { ERROR_EXAMPLES } from './error-examples.ts'

export const CREATE_EVENT_EXAMPLES: OperationExamples = {
  request: {
    purchase: {
      summary: 'A purchase on consent',
      value: {
        event_id: 'order-1001',
        event_name: 'Purchase',
        event_time: '2026-11-21T11:58:00Z',
        consent_basis: 'consent',
        action_source: 'website',
        event_source: 'https://shop.example/checkout/thanks',
        visitor_id: 'visitor-7f3a',
        consent: { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' },
        user_data: { em: 'jane@example.com', client_user_agent: 'Mozilla/5.0' },
        value_data: {
          value: '19.95',
          currency: 'EUR',
          order_id: '1001',
          contents: [{ id: 'mug-blue', quantity: 1, item_price: '19.95' }],
          num_items: 1,
        },
      },
    },
    undated_consent: {
      summary: 'A purchase whose consent bears no time: stored, with a warning',
      value: {
        event_id: 'order-1002',
        event_name: 'Purchase',
        consent_basis: 'consent',
        consent: { advertising: 'granted' },
        user_data: { em: 'jane@example.com' },
        value_data: { value: '5', currency: 'EUR', order_id: '1002' },
      },
    },
    withdrawal: {
      summary: 'A visitor withdraws consent',
      value: {
        event_id: 'withdrawal-7f3a',
        event_name: 'consent_withdrawal',
        consent_basis: 'legitimate_interest',
        visitor_id: 'visitor-7f3a',
      },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      purchase: {
        summary: 'The purchase once more',
        value: { event_id: 'order-1001', duplicate: true },
      },
      other_event: {
        summary: 'Another event under the ID of a stored one: it is not sent',
        value: {
          event_id: 'order-1001',
          duplicate: true,
          notices: [
            {
              code: 'differs_from_stored',
              field: 'event_id',
              message:
                'The event_id field names a stored event with a different body, which counts; ' +
                'this one was neither stored nor sent. Give each event its own event_id, ' +
                'whatever its event_name.',
            },
          ],
        },
      },
    },
    202: {
      purchase: {
        summary: 'Stored',
        value: { event_id: 'order-1001', duplicate: false, warnings: [], notices: [] },
      },
      undated_consent: {
        summary: 'Stored, with a warning',
        value: {
          event_id: 'order-1002',
          duplicate: false,
          warnings: [
            {
              code: 'consent_captured_at_invalid',
              field: 'consent.captured_at',
              message:
                'consent.captured_at is missing: say when consent was captured, since the event ' +
                'carries identity.',
            },
          ],
          notices: [],
        },
      },
      withdrawal: {
        summary: 'Stored; what waited for the visitor is not sent',
        value: { event_id: 'withdrawal-7f3a', duplicate: false, warnings: [], notices: [] },
      },
    },
    401: {
      ...ERROR_EXAMPLES[401],
      replayed: {
        summary: 'A forwarded request that came before',
        value: {
          message: 'This forwarded request has been received before: sign each request again.',
        },
      },
    },
    403: {
      ...ERROR_EXAMPLES[403],
      foreign_origin: {
        summary: 'A page of another site',
        value: {
          message:
            'The origin of this page is not registered for the publishable key: issue a key that ' +
            'names it.',
        },
      },
    },
    422: {
      several_faults: {
        summary: 'Every wrong field at once',
        value: {
          message: 'The event_name field is required. (and 1 more error)',
          errors: {
            event_name: ['The event_name field is required.'],
            'value_data.value': [
              'The value_data.value field must be decimal text such as "19.95", up to 15 digits ' +
                'and 6 after the point.',
            ],
          },
        },
      },
      denied: {
        summary: 'A signal that denies',
        value: {
          message:
            'The consent.ad_user_data field denies: use consent only with granted downstream ' +
            'advertising state.',
          errors: {
            'consent.ad_user_data': [
              'The consent.ad_user_data field denies: use consent only with granted downstream ' +
                'advertising state.',
            ],
          },
        },
      },
    },
    503: {
      queue_full: {
        summary: 'Too many events wait for a commit',
        value: { message: 'Too many events are waiting; try again.' },
      },
      ...ERROR_EXAMPLES[503],
    },
  },
}

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
