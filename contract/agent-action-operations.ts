import Type from 'typebox'
import { rowId } from './agents/actions.ts'
import { PolicyAnswer } from './agents/policy.ts'
import {
  ActionAnswer,
  ActionBatchAnswer,
  ActionList,
  DecisionReceipt,
  DryRunResult,
  DryRunSubmission,
  ProposalResult,
  ProposalSubmission,
} from './agents/proposals.ts'
import { ActionQuery } from './agents/tool-inputs.ts'
import {
  describeBodyTooLarge,
  MessageError,
  READ_ERRORS,
  ValidationError,
  WRITE_ERRORS,
} from './errors.ts'

/** OpenAPI, Security Requirement. */
const EXECUTION_TOKEN: readonly Record<string, readonly string[]>[] = [{ executionToken: [] }]

/** What these operations have in common; each route checks its `credential` itself. */
const CONFIG = {
  tag: 'Agent actions',
  credential: 'agent',
  security: EXECUTION_TOKEN,
  requestHeaders: [],
  responseHeaders: [],
} as const

/** The largest body of a proposal: 25 actions with a rationale of 2,000 characters each fit. */
export const PROPOSAL_BYTES_MAX = 262_144

const workspace = rowId('The workspace of the token. Any other returns 404.')
const WorkspacePath = Type.Object({ workspace })
const ActionPath = Type.Object({ workspace, action: rowId('An action of the ad account.') })
const BatchPath = Type.Object({ workspace, batch: rowId('A proposal for the ad account.') })

const FOUND_REFUSALS = { ...READ_ERRORS, 404: MessageError } as const
const BODY_REFUSALS = { ...WRITE_ERRORS, 404: MessageError, 422: ValidationError } as const

/**
 * Agent actions for programs with an execution token: the same operations as the MCP tools. They
 * are not among the ten operations of the REST contract.
 */
export const dryRunActions = {
  method: 'POST',
  url: '/agent/workspaces/:workspace/actions/dry-run',
  config: {
    ...CONFIG,
    operationId: 'dryRunActions',
    summary: 'Preview the outcome of actions without proposing them',
    description:
      'Reads the entities, applies the policy of the workspace and returns what each action ' +
      'would change. It stores nothing and requests no approval. Daily limits count earlier ' +
      'actions of the same request as if they were executed.',
  },
  schema: {
    params: WorkspacePath,
    body: DryRunSubmission,
    response: { 200: DryRunResult, ...BODY_REFUSALS },
  },
} as const

export const proposeActions = {
  method: 'POST',
  url: '/agent/workspaces/:workspace/actions',
  config: {
    ...CONFIG,
    operationId: 'proposeActions',
    summary: 'Propose changes to campaigns, ad sets and ads',
    description:
      'Stores 1 to 25 actions as one proposal. The policy of the workspace allows each action, ' +
      'blocks it or requires approval; allowed actions are executed before the response. The ' +
      'same idempotency_key with the same content is the same proposal: if a response is lost, ' +
      'send the same request again. Read the batch to see the outcome.',
  },
  schema: {
    params: WorkspacePath,
    body: ProposalSubmission,
    response: { 200: ProposalResult, 201: ProposalResult, ...BODY_REFUSALS },
  },
} as const

export const listActions = {
  method: 'GET',
  url: '/agent/workspaces/:workspace/actions',
  config: {
    ...CONFIG,
    operationId: 'listActions',
    summary: 'List the actions of the ad account, newest first',
    description: 'Includes the actions of every proposer.',
  },
  schema: {
    params: WorkspacePath,
    querystring: Type.Object({
      ...ActionQuery.properties,
      account_id: Type.Optional(
        rowId('The ad account of the token. Optional; any other ad account is refused.'),
      ),
    }),
    response: { 200: ActionList, ...FOUND_REFUSALS, 422: ValidationError },
  },
} as const

export const getActionPolicy = {
  method: 'GET',
  url: '/agent/workspaces/:workspace/actions/policy',
  config: {
    ...CONFIG,
    operationId: 'getActionPolicy',
    summary: 'Read the policy that applies to proposals',
    description: 'Owners change it in the dashboard; no token can.',
  },
  schema: { params: WorkspacePath, response: { 200: PolicyAnswer, ...FOUND_REFUSALS } },
} as const

export const getAction = {
  method: 'GET',
  url: '/agent/workspaces/:workspace/actions/:action',
  config: {
    ...CONFIG,
    operationId: 'getAction',
    summary: 'Read one action with its history',
    description: '`explanation` is one sentence about what happened and what happens next.',
  },
  schema: { params: ActionPath, response: { 200: ActionAnswer, ...FOUND_REFUSALS } },
} as const

export const getActionDecisionReceipt = {
  method: 'GET',
  url: '/agent/workspaces/:workspace/actions/:action/decision-receipt',
  config: {
    ...CONFIG,
    operationId: 'getActionDecisionReceipt',
    summary: 'Read the receipt of a finished action',
    description:
      'The canonical document of what was proposed, decided and executed, its digest, and the ' +
      'audit log entry that contains the digest. A receipt never changes.',
  },
  schema: { params: ActionPath, response: { 200: DecisionReceipt, ...FOUND_REFUSALS } },
} as const

export const getActionBatch = {
  method: 'GET',
  url: '/agent/workspaces/:workspace/action-batches/:batch',
  config: {
    ...CONFIG,
    operationId: 'getActionBatch',
    summary: 'Read the current state of one proposal and its actions',
    description: 'Its status is derived from the statuses of its actions.',
  },
  schema: { params: BatchPath, response: { 200: ActionBatchAnswer, ...FOUND_REFUSALS } },
} as const

export const cancelProposal = {
  method: 'POST',
  url: '/agent/workspaces/:workspace/action-batches/:batch/cancel',
  config: {
    ...CONFIG,
    operationId: 'cancelProposal',
    summary: 'Cancel the pending actions of an own proposal',
    description:
      'Rejects them with the outcome `canceled`. Only the token that proposed them can; actions ' +
      'that were decided on are not affected.',
  },
  schema: {
    params: BatchPath,
    response: { 200: ActionBatchAnswer, ...WRITE_ERRORS, 404: MessageError, 409: MessageError },
  },
} as const

export const AGENT_ACTION_OPERATIONS = [
  dryRunActions,
  listActions,
  proposeActions,
  getActionPolicy,
  getAction,
  getActionDecisionReceipt,
  getActionBatch,
  cancelProposal,
] as const
export type AgentActionOperation = (typeof AGENT_ACTION_OPERATIONS)[number]

const EVERYWHERE = {
  401:
    'The execution token is missing, expired or revoked, or is a token of another kind (OAuth ' +
    'tokens are for MCP); or its issuer, the workspace or the ad account is disabled.',
  403: 'The token is valid but came from a browser (Origin header). Revoke it.',
  404: 'The token belongs to another workspace.',
}
const PROPOSING = {
  ...EVERYWHERE,
  403:
    'The token lacks the permission actions.propose, or it came from a browser (Origin header): ' +
    'then revoke it.',
  413: describeBodyTooLarge(PROPOSAL_BYTES_MAX),
}

/** What a response means for the caller, where the status alone is not enough. */
export const AGENT_ACTION_RESPONSE_DESCRIPTIONS: Record<
  AgentActionOperation['config']['operationId'],
  Record<number, string>
> = {
  dryRunActions: { ...PROPOSING, 200: 'The outcome of each action, in the same order.' },
  proposeActions: {
    ...PROPOSING,
    200: 'A proposal with this key and the same content already exists.',
    201: 'The proposal is stored. Actions that the policy allows are executed.',
    422: 'The request is invalid (errors name each field), or another proposal has this key.',
  },
  listActions: {
    ...EVERYWHERE,
    200: 'One page of actions.',
    422: 'A parameter is invalid, or account_id is not the ad account of the token.',
  },
  getActionPolicy: { ...EVERYWHERE, 200: 'The current policy.' },
  getAction: {
    ...EVERYWHERE,
    200: 'The current state of the action.',
    404: 'The token belongs to another workspace, or the ad account has no such action.',
  },
  getActionDecisionReceipt: {
    ...EVERYWHERE,
    200: 'The receipt.',
    404:
      'The token belongs to another workspace, the ad account has no such action, or the ' +
      'action is not finished yet.',
  },
  getActionBatch: {
    ...EVERYWHERE,
    200: 'The current state of the proposal.',
    404: 'The token belongs to another workspace, or the ad account has no such proposal.',
  },
  cancelProposal: {
    ...EVERYWHERE,
    200: 'The proposal without pending actions.',
    403:
      'The token lacks the permission actions.propose, another credential proposed it, or the ' +
      'token came from a browser (Origin header): then revoke it.',
    404: 'The token belongs to another workspace, or the ad account has no such proposal.',
    409: 'No action of the proposal is pending.',
  },
}
