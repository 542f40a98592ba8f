import { BUCKET_NAMES } from '../reports.ts'
import { DESTINATION_OFF } from './destination-examples.ts'
import type { OperationExamples } from './error-examples.ts'
import { AMBIGUOUS_REQUEST_EXAMPLES, ERROR_EXAMPLES } from './error-examples.ts'

const { 401: unauthenticated, 403: fromBrowser, 429: tooFast } = ERROR_EXAMPLES
const { 500: fault, 503: unavailable } = ERROR_EXAMPLES
const READ_ERRORS = {
  400: AMBIGUOUS_REQUEST_EXAMPLES,
  401: unauthenticated,
  403: fromBrowser,
  429: tooFast,
  500: fault,
  503: unavailable,
}

const owner = {
  workspace_id: 1,
  signal_tracker_id: DESTINATION_OFF.signal_tracker_id,
  destination_id: DESTINATION_OFF.id,
}

const COUNT_SOURCE = {
  source: 'day_report',
  platform: 'Meta',
  label: 'Events received from servers',
  meaning: 'Events that the dataset received from servers, by hour and event name.',
}

const UNAVAILABLE_REPORT = {
  id: 2,
  ...owner,
  report_date: '2026-11-20',
  accepted_count: 120,
  meta_count: 0,
  observed_gap: 120,
  count_source: COUNT_SOURCE,
  unavailable: {
    cause: 'permission',
    sentence: 'The credential may not read the counts of the dataset.',
  },
  sent_names: [],
  outcomes: [],
  requests: null,
  values: { accepted: [], reported: null, explanation: 'The platform reports no values.' },
  event_counts: { accepted: { Purchase: 120 }, meta: {} },
  buckets: Object.fromEntries(
    BUCKET_NAMES.map(name => [
      name,
      {
        count: 0,
        basis: 'measured',
        explanation:
          'The day was not compared. The credential may not read the counts of the dataset.',
      },
    ]),
  ),
  unexplained_residual: 120,
  status: 'unavailable',
  created_at: '2026-11-21T06:00:00.000Z',
  updated_at: '2026-11-21T06:00:00.000Z',
  destination: DESTINATION_OFF,
}

export const GET_RECONCILIATION_REPORT_EXAMPLES: OperationExamples = {
  responses: {
    ...READ_ERRORS,
    200: {
      none: { summary: 'Not made yet', value: { date: '2026-11-20', reports: [] } },
      unavailable: {
        summary: 'The platform gave no count',
        value: { date: '2026-11-20', reports: [UNAVAILABLE_REPORT] },
      },
      explained: {
        summary: 'Two events came late',
        value: {
          date: '2026-11-20',
          reports: [
            {
              id: 1,
              ...owner,
              report_date: '2026-11-20',
              accepted_count: 120,
              meta_count: 118,
              observed_gap: 2,
              count_source: COUNT_SOURCE,
              unavailable: null,
              sent_names: [],
              outcomes: [
                {
                  status: 'skipped:consent',
                  reason: 'consent_refused_for_platform',
                  count: 7,
                  explanation: 'The person refused this platform.',
                },
              ],
              requests: null,
              values: {
                accepted: [
                  { event_name: 'Purchase', currency: 'EUR', events: 120, amount: '2394.00' },
                ],
                reported: null,
                explanation: 'The platform reports no values.',
              },
              event_counts: { accepted: { Purchase: 120 }, meta: { Purchase: 118 } },
              buckets: {
                late_event_time: {
                  count: 2,
                  basis: 'measured',
                  explanation: 'Two events happened on the day before.',
                },
              },
              unexplained_residual: 0,
              status: 'explained',
              created_at: '2026-11-21T06:00:00.000Z',
              updated_at: '2026-11-21T06:00:00.000Z',
              destination: DESTINATION_OFF,
            },
          ],
        },
      },
    },
    422: {
      no_date: {
        summary: 'No date',
        value: {
          message: 'The date field is required.',
          errors: { date: ['The date field is required.'] },
        },
      },
    },
  },
}

export const GET_EMQ_REPORT_EXAMPLES: OperationExamples = {
  responses: {
    ...READ_ERRORS,
    200: {
      none: { summary: 'Not measured yet', value: { snapshots: [] } },
      fair: {
        summary: 'One snapshot',
        value: {
          snapshots: [
            {
              id: 1,
              ...owner,
              score: 6.2,
              week_over_week_change: null,
              alerted: false,
              platform_response: {
                web: [{ event_name: 'Purchase', event_match_quality: { composite_score: 6.2 } }],
                signalbox: {
                  from: '2026-11-15',
                  until: '2026-11-21',
                  coverage: [
                    {
                      event_name: 'Purchase',
                      events: 250,
                      keys: { client_ip_address: 100, client_user_agent: 100, em: 82.4 },
                    },
                  ],
                  advice: [
                    {
                      event_name: 'Purchase',
                      key: 'ph',
                      kind: 'send_more',
                      sentence:
                        'Purchase: send `user_data.ph` with more events; now none has it, ' +
                        'and of the missing keys it usually improves the match most.',
                      possible_gain_percent: null,
                    },
                  ],
                },
              },
              measured_at: '2026-11-21T06:00:00.000Z',
              created_at: '2026-11-21T06:00:00.000Z',
              updated_at: '2026-11-21T06:00:00.000Z',
            },
          ],
        },
      },
    },
  },
}
