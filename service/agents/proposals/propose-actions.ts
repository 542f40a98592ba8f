import { hash } from 'node:crypto'
import type { ActionSubmission } from '@signalbox/contract/agents/actions.ts'
import type { ProposalSubmission } from '@signalbox/contract/agents/proposals.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { type FieldErrors, Refusal } from '../../runtime/http/refusal.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { lockPolicy } from '../policy/policy-store.ts'
import { readSubmittedTargets, type TargetStates } from './account-history.ts'
import { type Action, type ActionProposer, toProposer } from './action.ts'
import { countPending } from './action-list-store.ts'
import { notifyApprovers } from './action-notifications.ts'
import { findActionsOfBatch } from './action-store.ts'
import { lockActiveAdAccount } from './ad-account-store.ts'
import {
  type Batch,
  findBatchByKey,
  insertBatch,
  type NewBatch,
  type ProposalKey,
} from './batch-store.ts'
import {
  buildNewAction,
  combineDecisions,
  type EvaluatedAction,
  evaluateActions,
  strictestDecision,
  toExecutionOrder,
} from './evaluate-actions.ts'
import { checkEvidence } from './evidence.ts'
import { digestBatch } from './proposal-records.ts'
import { createAction } from './transition-action.ts'
import { validateProposal } from './validate-proposal.ts'

/**
 * Evaluates a proposal and stores it with its audit entries in one transaction. Allowed actions are
 * stored as executing; the caller executes them afterwards. Throws a Refusal: 403 without the
 * permission, 422 with every invalid field or for an idempotency key of another proposal.
 */
export async function proposeActions(
  context: ProposalContext,
  principal: AgentPrincipal,
  body: unknown,
): Promise<Proposal> {
  requirePermission(principal, 'actions.propose')
  const submission = validateProposal(body, principal.adAccountId)
  const proposer = toProposer(principal)
  const content = { principal, proposer, submission }
  const input = { ...content, targets: await readTargets(context, content) }
  return context.database.query.transaction().execute(query => propose({ query }, context, input))
}

interface ProposalContent {
  principal: AgentPrincipal
  proposer: ActionProposer
  submission: ProposalSubmission
}

interface ProposalInput extends ProposalContent {
  /** Null for a retry, which evaluates nothing. */
  targets: TargetStates | null
}

async function readTargets(
  { database, campaigns }: ProposalContext,
  content: ProposalContent,
): Promise<TargetStates | null> {
  if (await findBatchByKey(database, toProposalKey(content))) return null
  const { adAccountId } = content.principal
  return readSubmittedTargets(campaigns, adAccountId, orderSubmissions(content))
}

async function propose(
  transaction: Transaction,
  context: ProposalContext,
  input: ProposalInput,
): Promise<Proposal> {
  const { workspaceId } = input.principal
  const account = await lockActiveAdAccount(transaction, input.principal)
  if (!account) throw new Refusal(403, ACCOUNT_INACTIVE)
  const saved = await findSavedProposal(transaction, input)
  if (saved) return saved
  const { targets } = input
  if (!targets) throw new Error('the batch of an idempotency key is gone')
  // Read the clock under the lock, so that usage is counted on the day that is recorded.
  const at = context.now()
  const policy = await lockPolicy(transaction, workspaceId, at)
  const submissions = orderSubmissions(input)
  const day = { account, policy, at }
  const independent = await evaluateActions(transaction, { submissions, targets, ...day })
  const evaluated = combine(input, independent)
  await requireQueueCapacity(transaction, account.adAccountId, evaluated)
  const batch = await buildBatch(transaction, input, {
    evaluated,
    policyVersion: policy.version,
    at,
  })
  const id = await insertBatch(transaction, batch)
  if (id !== null) {
    const { actions } = input.submission
    const { currency } = account
    const saving = { batch: { ...batch, id }, currency, submissions: actions, evaluated }
    return saveProposal(transaction, context, saving)
  }
  // An earlier version stored the key in the meantime, without the lock of this ad account.
  const other = await findSavedProposal(transaction, input)
  if (other) return other
  throw new Error('the batch of a conflicting idempotency key is missing')
}

function orderSubmissions({ submission }: ProposalContent): ActionSubmission[] {
  return toExecutionOrder(submission.actions, submission.all_or_nothing === true)
}

/** Throws a 422 refusal if all or nothing is proposed and an action is blocked. */
function combine(
  { submission: { actions, all_or_nothing } }: ProposalContent,
  evaluated: readonly EvaluatedAction[],
): readonly EvaluatedAction[] {
  if (!all_or_nothing) return evaluated
  const errors: FieldErrors = {}
  for (const { submission, evaluation } of evaluated) {
    if (evaluation.decision !== 'block') continue
    const field = `actions.${actions.indexOf(submission)}`
    const reasons = evaluation.reasons.map(({ message }) => message).join(' ')
    errors[field] = [
      `The ${field} field is blocked, so that nothing of this all-or-nothing proposal is ` +
        `stored: ${reasons}`,
    ]
  }
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  return combineDecisions(evaluated)
}

const ACCOUNT_INACTIVE =
  'The ad account of this credential is no longer active. Ask an owner to activate it, or for a ' +
  'credential of another ad account.'

/** The proposal that was stored with this idempotency key, if any. */
async function findSavedProposal(
  transaction: Transaction,
  content: ProposalContent,
): Promise<Proposal | null> {
  const batch = await findBatchByKey(transaction, toProposalKey(content))
  if (!batch) return null
  const digests = [computeContentDigest(content), computeDigestOf(content, content.submission)]
  if (!digests.some(digest => batch.contentSha256.equals(digest))) throw idempotencyConflict()
  return { batch, actions: await findActionsOfBatch(transaction, batch.id), isNew: false }
}

function toProposalKey({ proposer, principal, submission }: ProposalContent): ProposalKey {
  const { idempotency_key: idempotencyKey } = submission
  return { proposer, adAccountId: principal.adAccountId, idempotencyKey }
}

function idempotencyConflict(): Refusal {
  const message =
    'The idempotency_key field was used for another proposal of this credential; choose a new one.'
  return Refusal.ofFields({ idempotency_key: [message] })
}

/**
 * Digest of the content, credential and ad account; equal for retries. A name that is null counts
 * as absent. Earlier versions did not count it so: `computeDigestOf` the submission is theirs.
 */
function computeContentDigest(content: ProposalContent): Buffer {
  const actions = content.submission.actions.map(action => {
    const { name, ...target } = action.target_entity
    return { ...action, target_entity: name == null ? target : action.target_entity }
  })
  return computeDigestOf(content, { ...content.submission, actions })
}

function computeDigestOf(
  { proposer, principal }: ProposalContent,
  { idempotency_key: _, account_id: __, all_or_nothing, ...independent }: ProposalSubmission,
): Buffer {
  const content = all_or_nothing ? { ...independent, all_or_nothing } : independent
  const proposedBy = { type: proposer.kind, id: proposer.id }
  const { adAccountId } = principal
  const text = canonicalJson({ content, proposed_by: proposedBy, ad_account_id: adAccountId })
  return hash('sha256', text, 'buffer')
}

async function buildBatch(
  transaction: Transaction,
  content: ProposalContent,
  { evaluated, policyVersion, at }: EvaluatedProposal,
): Promise<NewBatch> {
  const { principal, proposer, submission } = content
  return {
    workspaceId: principal.workspaceId,
    adAccountId: principal.adAccountId,
    idempotencyKey: submission.idempotency_key,
    contentSha256: computeContentDigest(content),
    rationale: submission.rationale,
    provenance: await checkEvidence(transaction, principal, submission),
    proposer,
    policyVersion,
    policyDecision: strictestDecision(evaluated),
    isAllOrNothing: submission.all_or_nothing === true,
    undoes: null,
    createdAt: at,
    expiresAt: approvalExpiry(at),
  }
}

interface EvaluatedProposal {
  evaluated: readonly EvaluatedAction[]
  policyVersion: number
  at: Date
}

export interface Proposal {
  batch: Batch
  /** In the order of the submission. */
  actions: Action[]
  /** False for a retry with the same idempotency key; the actions then have their current state. */
  isNew: boolean
}

/** Limits pending actions of one ad account, so that a proposer cannot flood the queue. */
export const PENDING_ACTIONS_MAX = 200

/** The locked ad account prevents concurrent proposals from exceeding the limit. */
export async function requireQueueCapacity(
  transaction: Transaction,
  adAccountId: number,
  evaluated: readonly EvaluatedAction[],
): Promise<void> {
  const pending = evaluated.filter(({ evaluation }) => evaluation.decision === 'require_approval')
  if (pending.length === 0) return
  if ((await countPending(transaction, adAccountId)) + pending.length <= PENDING_ACTIONS_MAX) return
  const message =
    'The actions field requires approval, and this ad account can have at most ' +
    `${PENDING_ACTIONS_MAX} pending actions; wait until some are decided.`
  throw Refusal.ofFields({ actions: [message] })
}

/** The approval period. */
const APPROVAL_HOURS = 72

export function approvalExpiry(proposedAt: Date): Date {
  return new Date(proposedAt.getTime() + APPROVAL_HOURS * HOUR_MILLISECONDS)
}

interface NewProposal {
  batch: Batch
  /** Of its ad account. */
  currency: string
  /** In the order of the submission. */
  submissions: readonly ActionSubmission[]
  /** In the order of execution. */
  evaluated: readonly EvaluatedAction[]
}

/**
 * Stores the actions of a new batch in the order of execution, so that their IDs ascend in it.
 * Appends audit entries last: the first one locks the chain of the workspace.
 */
export async function saveProposal(
  transaction: Transaction,
  { audit }: Pick<ProposalContext, 'audit'>,
  { batch, currency, submissions, evaluated }: NewProposal,
): Promise<Proposal> {
  const { id: batchId, workspaceId, proposer, createdAt: at } = batch
  const created = evaluated.map(action =>
    buildNewAction(batch, submissions.indexOf(action.submission), action),
  )
  await notifyApprovers(transaction, { batch, actions: created, currency })
  await audit.append(transaction, {
    workspaceId,
    at,
    action: 'proposal.submitted',
    actor: { type: proposer.kind, id: String(proposer.id) },
    subject: { type: 'batch', id: String(batchId) },
    details: {
      ad_account_id: batch.adAccountId,
      actions: evaluated.length,
      policy_version: batch.policyVersion,
      policy_decision: batch.policyDecision,
      ...(batch.isAllOrNothing && { all_or_nothing: true }),
      ...(batch.undoes !== null && { undoes: batch.undoes }),
      content_sha256: batch.contentSha256.toString('hex'),
      record_sha256: digestBatch(batch),
    },
  })
  const actions: Action[] = []
  for (const action of created) {
    actions.push(await createAction(transaction, audit, { batch, action }))
  }
  actions.sort((one, other) => one.position - other.position)
  return { batch, actions, isNew: true }
}
