import { hash } from 'node:crypto'
import type { ActionSubmission } from '@signalbox/contract/agents/actions.ts'
import type { ProposalSubmission } from '@signalbox/contract/agents/proposals.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { type FieldErrors, Refusal } from '../../runtime/http/refusal.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { lockPolicy } from '../policy/policy-store.ts'
import { type ActionProposer, toProposer } from './action.ts'
import { findActionsOfBatch } from './action-store.ts'
import { lockActiveAdAccount } from './ad-account-store.ts'
import { findBatchByKey, insertBatch, type NewBatch, type ProposalKey } from './batch-store.ts'
import {
  combineDecisions,
  type EvaluatedAction,
  evaluateActions,
  readSubmittedTargets,
  strictestDecision,
  type TargetStates,
  toExecutionOrder,
} from './evaluate-actions.ts'
import { checkEvidence } from './evidence.ts'
import {
  approvalExpiry,
  type Proposal,
  requireQueueCapacity,
  saveProposal,
} from './save-proposal.ts'
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
  const contentSha256 = computeContentDigest(submission, {
    proposer,
    adAccountId: principal.adAccountId,
  })
  const content = { principal, proposer, submission, contentSha256 }
  const input = { ...content, targets: await readTargets(context, content) }
  return context.database.query.transaction().execute(query => propose({ query }, context, input))
}

interface ProposalContent {
  principal: AgentPrincipal
  proposer: ActionProposer
  submission: ProposalSubmission
  contentSha256: Buffer
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
  const policy = await lockPolicy(transaction, workspaceId)
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
    const saving = { batch: { ...batch, id }, submissions: actions, evaluated }
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
  if (!batch.contentSha256.equals(content.contentSha256)) throw idempotencyConflict()
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

/** Digest of the content, credential and ad account; equal for retries. */
function computeContentDigest(
  { idempotency_key: _, account_id: __, all_or_nothing, ...independent }: ProposalSubmission,
  { proposer, adAccountId }: { proposer: ActionProposer; adAccountId: number },
): Buffer {
  const content = all_or_nothing ? { ...independent, all_or_nothing } : independent
  const proposedBy = { type: proposer.kind, id: proposer.id }
  const text = canonicalJson({ content, proposed_by: proposedBy, ad_account_id: adAccountId })
  return hash('sha256', text, 'buffer')
}

async function buildBatch(
  transaction: Transaction,
  { principal, proposer, submission, contentSha256 }: ProposalContent,
  { evaluated, policyVersion, at }: EvaluatedProposal,
): Promise<NewBatch> {
  return {
    workspaceId: principal.workspaceId,
    adAccountId: principal.adAccountId,
    idempotencyKey: submission.idempotency_key,
    contentSha256,
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
