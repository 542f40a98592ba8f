import { type AgentActionOperation, PROPOSAL_BYTES_MAX } from '../agent-action-operations.ts'
import { describeBodyTooLarge } from '../errors.ts'
import { DRY_RUN_REQUEST, IMPOSSIBLE_REQUEST, PROPOSAL_REQUEST } from './agent-action-requests.ts'
import {
  ACTION_41,
  ACTION_42,
  ACTION_43,
  BATCH_12,
  CANCELED_12,
  DRY_RUN,
  PROPOSAL_12,
  PROPOSAL_13,
  RECEIPT_43,
} from './agent-action-responses.ts'
import type { MediaExamples, OperationExamples } from './error-examples.ts'
import { AMBIGUOUS_REQUEST_EXAMPLES, ERROR_EXAMPLES } from './error-examples.ts'

const { 400: unreadable, 401: unauthenticated, 413: bodyTooLarge, 415: wrongType } = ERROR_EXAMPLES
const { 500: fault, 503: unavailable } = ERROR_EXAMPLES

const tooFast = {
  too_fast: {
    summary: 'Rate limit exceeded',
    value: {
      message: 'Too many agent requests from this address; wait, then send the same request again.',
    },
  },
}
const tooLarge = {
  too_large: {
    summary: 'Too large',
    value: { message: describeBodyTooLarge(PROPOSAL_BYTES_MAX) },
  },
}
const fromABrowser = {
  from_a_browser: {
    summary: 'A token in a browser',
    value: {
      message:
        'This execution token came from a browser (Origin header), where anyone can read it: ' +
        'revoke it, and ask from your server.',
    },
  },
}
const lacking = {
  lacking: {
    summary: 'A token of the tier Read',
    value: {
      message:
        'This credential lacks the permission actions.propose. Ask an owner of the workspace ' +
        'for a token of the tier Write or Admin.',
    },
  },
}
const anotherWorkspace = {
  another_workspace: {
    summary: 'The workspace is not that of the token',
    value: {
      message:
        'This token has no such workspace. Use the workspace that issued the token: its number ' +
        'is in the address of its pages, /workspaces/{workspace}.',
    },
  },
}

const noAction = {
  no_action: {
    summary: 'Not of this ad account',
    value: { message: 'There is no such action. List the actions to find its ID.' },
  },
}
const noBatch = {
  no_batch: {
    summary: 'Not of this ad account',
    value: {
      message:
        'There is no such batch. Use the proposal.id that the proposal returned, or the batch_id ' +
        'of an action.',
    },
  },
}
const notOwn = {
  not_own: {
    summary: 'A proposal of another credential',
    value: {
      message:
        'Another credential proposed this. Only that credential can cancel it; a person can ' +
        'reject it.',
    },
  },
}
const nothingPending = {
  nothing_pending: {
    summary: 'It was canceled before',
    value: { message: 'Nothing is pending: rejected. Read the proposal again.' },
  },
}
const notEnded = {
  not_ended: {
    summary: 'It waits, or it is being carried out',
    value: {
      message:
        'This action has no receipt yet: it gets one when it is completed. Read the action, and ' +
        'ask again when its finished_at is set.',
    },
  },
}

const anotherAccount = wrongField(
  'account_id',
  'The account_id field must be the ad account of this credential; omit it.',
)
const takenKey = wrongField(
  'idempotency_key',
  'The idempotency_key field was used for another proposal of this credential; choose a new one.',
)

const OF_READING = {
  400: AMBIGUOUS_REQUEST_EXAMPLES,
  401: unauthenticated,
  403: fromABrowser,
  429: tooFast,
  500: fault,
  503: unavailable,
}
const OF_PROPOSING = {
  400: unreadable,
  401: unauthenticated,
  403: { ...lacking, ...fromABrowser },
  413: tooLarge,
  415: wrongType,
  429: tooFast,
  500: fault,
  503: unavailable,
  404: anotherWorkspace,
}

/** An answer to a body bears the name of the request that it answers. */
export const AGENT_ACTION_EXAMPLES: Record<
  AgentActionOperation['config']['operationId'],
  OperationExamples
> = {
  dryRunActions: {
    request: {
      changes: { summary: 'A budget, and a campaign that does not exist', value: DRY_RUN_REQUEST },
    },
    responses: {
      200: { changes: { summary: 'One needs a person, one cannot be', value: DRY_RUN } },
      ...OF_PROPOSING,
      422: anotherAccount,
    },
  },
  proposeActions: {
    request: {
      changes: { summary: 'A higher budget, and an ad to pause', value: PROPOSAL_REQUEST },
      impossible: { summary: 'Pausing what is paused', value: IMPOSSIBLE_REQUEST },
    },
    responses: {
      200: { changes: { summary: 'Sent again with the same key', value: PROPOSAL_12 } },
      201: {
        changes: { summary: 'A person decides on both', value: PROPOSAL_12 },
        impossible: { summary: 'Blocked at once', value: PROPOSAL_13 },
      },
      ...OF_PROPOSING,
      422: { ...anotherAccount, ...takenKey },
    },
  },
  listActions: {
    responses: {
      200: {
        pending: {
          summary: 'What waits for a person',
          value: { actions: [ACTION_42, ACTION_41], page: 1, per_page: 25, has_more: false },
        },
      },
      ...OF_READING,
      404: anotherWorkspace,
      422: anotherAccount,
    },
  },
  getActionPolicy: {
    responses: {
      200: {
        first: {
          summary: 'What every workspace begins with',
          value: {
            policy: {
              version: 0,
              execution_mode: 'suggest_only',
              limits: {
                change_percent_max: 20,
                change_minor_max: 5_000,
                daily_total_minor_max: 20_000,
                actions_per_day_max: 10,
                allowed_types: ['increase_budget', 'decrease_budget', 'pause', 'resume'],
                quiet_hours: null,
                weekly_total_minor_max: 50_000,
                monthly_total_minor_max: 100_000,
                entity_budget_minor_max: null,
                account_budget_minor_max: null,
                entity_budget_times_max: 5,
                active_spend_percent_max: 50,
                currency_limits: [],
              },
              changed_at: null,
            },
          },
        },
      },
      ...OF_READING,
      404: anotherWorkspace,
    },
  },
  getAction: {
    responses: {
      200: {
        waiting: { summary: 'It waits for a person', value: { action: ACTION_41 } },
        blocked: { summary: 'The policy blocked it', value: { action: ACTION_43 } },
      },
      ...OF_READING,
      404: { ...anotherWorkspace, ...noAction },
    },
  },
  getActionDecisionReceipt: {
    responses: {
      200: { blocked: { summary: 'Of an action that was blocked', value: RECEIPT_43 } },
      ...OF_READING,
      404: { ...anotherWorkspace, ...noAction, ...notEnded },
    },
  },
  getActionBatch: {
    responses: {
      200: { changes: { summary: 'It waits for a person', value: BATCH_12 } },
      ...OF_READING,
      404: { ...anotherWorkspace, ...noBatch },
    },
  },
  cancelProposal: {
    responses: {
      200: { canceled: { summary: 'Nothing is pending anymore', value: CANCELED_12 } },
      ...OF_READING,
      403: { ...lacking, ...notOwn, ...fromABrowser },
      404: { ...anotherWorkspace, ...noBatch },
      409: nothingPending,
      413: bodyTooLarge,
      415: wrongType,
    },
  },
}

function wrongField(field: string, sentence: string): MediaExamples {
  const value = { message: sentence, errors: { [field]: [sentence] } }
  return { [field]: { summary: `The ${field} is wrong`, value } }
}
