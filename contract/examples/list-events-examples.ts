import type { OperationExamples } from './error-examples.ts'
import { AMBIGUOUS_REQUEST_EXAMPLES, ERROR_EXAMPLES } from './error-examples.ts'
import { EXAMPLE_DELIVERY, EXAMPLE_EVENT } from './get-event-examples.ts'

const { 401: unauthenticated, 403: fromBrowser, 429: tooFast } = ERROR_EXAMPLES
const { 500: fault, 503: unavailable } = ERROR_EXAMPLES

/** In a list the tracker is named by its id, and only the platform's last answer is shown. */
const signal_tracker_id = '0b2e7f3c-5d0e-4f0a-8a63-8a4f2b1c9d10'
const { attempts: _, ...platform_response } = EXAMPLE_DELIVERY.platform_response
const listed = {
  ...EXAMPLE_EVENT,
  signal_tracker_id,
  deliveries: [{ ...EXAMPLE_DELIVERY, signal_tracker_id, platform_response }],
}

const path = 'http://127.0.0.1:3000/api/v1/dashboard/events'
const page = `${path}?per_page=25&page=1`

export const LIST_EVENTS_EXAMPLES: OperationExamples = {
  responses: {
    200: {
      one: {
        summary: 'One event so far',
        value: {
          events: {
            current_page: 1,
            data: [listed],
            first_page_url: page,
            from: 1,
            last_page: 1,
            last_page_url: page,
            links: [
              { url: null, label: '&laquo; Previous', active: false },
              { url: page, label: '1', active: true },
              { url: null, label: 'Next &raquo;', active: false },
            ],
            next_page_url: null,
            path,
            per_page: 25,
            prev_page_url: null,
            to: 1,
            total: 1,
          },
          metrics: {
            accepted: 1,
            total_deliveries: 1,
            acceptance_rate: 1,
            acceptance_rate_window: 'last_7_days',
          },
        },
      },
    },
    400: AMBIGUOUS_REQUEST_EXAMPLES,
    401: unauthenticated,
    403: fromBrowser,
    422: {
      wrong_page: {
        summary: 'No page has this number',
        value: {
          message: 'The page field must be an integer of at least 1.',
          errors: { page: ['The page field must be an integer of at least 1.'] },
        },
      },
    },
    429: tooFast,
    500: fault,
    503: unavailable,
  },
}
