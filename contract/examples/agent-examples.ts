import type { AgentOperation } from '../agent-operations.ts'
import type { OperationExamples } from './error-examples.ts'
import { AMBIGUOUS_REQUEST_EXAMPLES, ERROR_EXAMPLES } from './error-examples.ts'

const { 401: unauthenticated, 429: _, 500: fault, 503: unavailable } = ERROR_EXAMPLES

export const AGENT_EXAMPLES: Record<AgentOperation['config']['operationId'], OperationExamples> = {
  getAgentContext: {
    responses: {
      200: {
        context: {
          summary: 'An approved connection',
          value: {
            connection: {
              id: 7,
              name: 'Reporting assistant',
              approved_at: '2026-11-21T12:00:00.000Z',
            },
            client: { name: 'Reporting assistant' },
            permissions: ['ad-account.read'],
            ad_account: {
              id: 3,
              name: 'Shop in Germany',
              platform: 'meta',
              currency: 'EUR',
              time_zone: 'Europe/Berlin',
            },
            workspace: { id: 1, name: 'Example shop' },
            signals: { tracker_connected: true, dataset_connected: true },
          },
        },
      },
      400: AMBIGUOUS_REQUEST_EXAMPLES,
      401: unauthenticated,
      403: {
        lacking: {
          summary: 'A permission that was not given',
          value: {
            message:
              'This credential lacks the permission ad-account.read. Ask an owner of the ' +
              'workspace to approve the agent again with it.',
          },
        },
      },
      429: {
        too_fast: {
          summary: 'Rate limit exceeded',
          value: {
            message: 'Too many requests from this address; wait, then send the same request again.',
          },
        },
      },
      500: fault,
      503: unavailable,
    },
  },
}
