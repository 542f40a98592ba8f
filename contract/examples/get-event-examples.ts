import type { OperationExamples } from './error-examples.ts'
import { AMBIGUOUS_REQUEST_EXAMPLES, ERROR_EXAMPLES } from './error-examples.ts'

const { 401: unauthenticated, 403: fromBrowser, 429: tooFast } = ERROR_EXAMPLES
const { 500: fault, 503: unavailable } = ERROR_EXAMPLES

export const EXAMPLE_DELIVERY = {
  id: 1,
  workspace_id: 1,
  signal_tracker_id: '1',
  event_id: 'order-1001',
  destination_id: '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11',
  status: 'accepted',
  is_test: false,
  attempt_count: 1,
  last_error: null,
  platform_response: {
    events_received: 1,
    messages: [],
    attempts: [
      {
        started_at: '2026-11-21T12:00:00.000Z',
        duration_milliseconds: 41,
        class: 'accepted',
        http_status: 200,
        trace_id: 'AxY7rXp3QvGm0e1dT2nKc5w',
        event_count: 1,
        answer: { events_received: 1, messages: [] },
      },
    ],
  },
  platform_trace_id: 'AxY7rXp3QvGm0e1dT2nKc5w',
  next_attempt_at: null,
  created_at: '2026-11-21T12:00:00.000Z',
  updated_at: '2026-11-21T12:00:00.000Z',
}

export const EXAMPLE_EVENT = {
  id: 'order-1001',
  workspace_id: 1,
  signal_tracker_id: '1',
  parent_event_id: null,
  event_name: 'Purchase',
  event_time: '2026-11-21T11:58:00.000Z',
  action_source: 'website',
  event_class: 'conversion',
  order_id: '1001',
  value_amount: 19.95,
  value_currency: 'EUR',
  created_at: '2026-11-21T12:00:00.000Z',
  consent_basis: 'consent',
  measurement_class: 'advertising',
  attribution_join: 'allowed',
  enforcement_scope: 'event',
  consent_normalization_version: '10',
  consent: {
    ad_user_data: 'granted',
    captured_at: '2026-11-21T11:00:00Z',
    decision: {
      outcome: 'granted',
      reason: 'granted_by_consent',
      granted_by: ['consent'],
      denied_by: [],
      inputs: {
        consent: {
          state: 'granted',
          why: 'words_granted',
          field: 'consent.ad_user_data',
          captured_at: '2026-11-21T11:00:00.000Z',
        },
      },
      rules_version: '10',
      captured_at: '2026-11-21T11:00:00.000Z',
    },
  },
  user_data_hashed: { em: ['8c87b489ce35cf2e2f39f80e282cb2e804932a56a213983eeeb428407d43b52d'] },
  click_ids: {},
  session: {
    visitor_id: 'visitor-7f3a',
    first_seen_at: '2026-11-21T12:00:00.000Z',
    last_seen_at: '2026-11-21T12:00:00.000Z',
    landing_source: 'https://shop.example/checkout/thanks',
    click_ids: {},
  },
  value_data: {
    value: '19.95',
    currency: 'EUR',
    order_id: '1001',
    contents: [{ id: 'mug-blue', quantity: 1, item_price: '19.95' }],
    num_items: 1,
  },
  event_source: 'https://shop.example/checkout/thanks',
  payload_expired: false,
  deliveries: [EXAMPLE_DELIVERY],
}

const EXAMPLE_ORDER = {
  order_id: '1001',
  purchase: {
    id: 'order-1001',
    event_name: 'Purchase',
    created_at: '2026-11-21T12:00:00.000Z',
    value_amount: '19.95',
    value_currency: 'EUR',
  },
  other_purchases: [],
  refunds: [],
  currency: 'EUR',
  gross_value: '19.95',
  refunded_value: '0.00',
  net_value: '19.95',
  explanation: 'The order has no refund: its net value is that of the purchase.',
  platforms: [
    {
      destination_id: EXAMPLE_DELIVERY.destination_id,
      platform: 'meta',
      value_amount: '19.95',
      value_currency: 'EUR',
      event_id: 'order-1001',
      is_net_value: true,
      explanation: 'The last value that the platform accepted is the net value.',
    },
  ],
}

export const GET_EVENT_EXAMPLES: OperationExamples = {
  responses: {
    200: {
      purchase: {
        summary: 'A purchase that the platform accepted',
        value: {
          event: EXAMPLE_EVENT,
          lineage: { parent: null, children: [] },
          order: EXAMPLE_ORDER,
          deliveries: [
            {
              ...EXAMPLE_DELIVERY,
              platform: 'meta',
              explanation:
                'The platform accepted the event with the first attempt (trace ' +
                'AxY7rXp3QvGm0e1dT2nKc5w). Nothing more happens.',
            },
          ],
        },
      },
    },
    400: {
      ...AMBIGUOUS_REQUEST_EXAMPLES,
      bad_path: {
        summary: 'A broken path',
        value: { message: 'The path has invalid percent-encoding.' },
      },
    },
    401: unauthenticated,
    403: fromBrowser,
    404: {
      no_such_event: {
        summary: 'No such event',
        value: { message: 'This tracker has no such event.' },
      },
    },
    422: {
      wrong_space: {
        summary: 'There is no such space of ids',
        value: {
          message: 'The space field must be "secret" or "publishable".',
          errors: { space: ['The space field must be "secret" or "publishable".'] },
        },
      },
    },
    429: tooFast,
    500: fault,
    503: unavailable,
  },
}
