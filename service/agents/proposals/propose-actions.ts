import { hash } from 'node:crypto'
import type { PolicyDecision } from '@signalbox/contract/agents/actions.ts'
import type { Evidence, ProposalSubmission } from '@signalbox/contract/agents/proposals.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { Transaction } from '../../db/database.ts'
import { Refusal } from '../../http/refusal.ts'
import { type AgentPrincipal, requirePermission } from '../../oauth/authenticate-agent.ts'
import { lockPolicy } from '../policy/policy-store.ts'
import { type Action, type ActionProposer, toProposer } from './action.ts'
import { countPending, findActionsOfBatch } from './action-store.ts'
import { lockActiveAdAccount } from './ad-account-store.ts'
import type { ProposalContext } from './agents-context.ts'
import { type Batch, findBatchByKey, insertBatch, type NewBatch } from './batch-store.ts'
import { buildNewAction, type EvaluatedAction, evaluateActions } from './evaluate-actions.ts'
import { findToolUses } from './tool-use-store.ts'
import { createAction } from './transition-action.ts'
import { validateProposal } from './validate-proposal.ts'

export interface Proposal {
  batch: Batch
  /** In the order of the submission. */
  actions: Action[]
  /** False: the same was proposed under the same key before, and this is what became of it. */
  isNew: boolean
}

/** How long a person may decide (decisions, section 10). */
const APPROVAL_HOURS = 72
const HOUR_MILLISECONDS = 3_600_000

/** So many actions of one ad account may wait: more nobody reads, and a queue is easily flooded. */
export const PENDING_ACTIONS_MAX = 200

/**
 * Judges what an agent proposes and keeps it, with its entries in the log, in one transaction. What
 * the policy allows is kept as executing: who calls carries it out afterwards. Throws a Refusal:
 * 403 without the permission, 422 with every wrong field, or for a key that stands for something
 * else.
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
  const order = { principal, proposer, submission, contentSha256 }
  return context.database.query.transaction().execute(query => propose({ query }, context, order))
}

interface ProposalInput {
  principal: AgentPrincipal
  proposer: ActionProposer
  submission: ProposalSubmission
  contentSha256: Buffer
}

async function propose(
  transaction: Transaction,
  context: ProposalContext,
  order: ProposalInput,
): Promise<Proposal> {
  const { workspaceId } = order.principal
  const account = await lockActiveAdAccount(transaction, order.principal)
  if (!account) throw new Refusal(403, 'The ad account of this credential is not active any more.')
  const saved = await findSavedProposal(transaction, order)
  if (saved) return saved
  // Taken under the lock: the day that is counted is the day in which it is written down.
  const at = context.now()
  const policy = await lockPolicy(transaction, workspaceId)
  const submissions = order.submission.actions
  const evaluated = await evaluateActions(transaction, context.platform, {
    ...{ submissions, account, policy, at },
  })
  await requireQueueCapacity(transaction, account.adAccountId, evaluated)
  const batch = await buildBatch(transaction, order, {
    evaluated,
    policyVersion: policy.version,
    at,
  })
  const id = await insertBatch(transaction, batch)
  if (id !== null) return saveProposal(transaction, context, { batch: { ...batch, id }, evaluated })
  // Another ad account of the workspace took the key while this one was judged.
  const other = await findSavedProposal(transaction, order)
  if (other) return other
  throw new Error('a key was taken and is not there')
}

/** The account is held, so that nobody else fills the place that is found. */
async function requireQueueCapacity(
  transaction: Transaction,
  adAccountId: number,
  evaluated: readonly EvaluatedAction[],
): Promise<void> {
  const waiting = evaluated.filter(({ evaluation }) => evaluation.decision === 'require_approval')
  if (waiting.length === 0) return
  if ((await countPending(transaction, adAccountId)) + waiting.length <= PENDING_ACTIONS_MAX) return
  const sentence =
    `The actions field asks for a person, and ${PENDING_ACTIONS_MAX} actions of this ad account ` +
    'may wait at most; wait until some are decided.'
  throw Refusal.ofFields({ actions: [sentence] })
}

/** What this key stands for already, if anything. */
async function findSavedProposal(
  transaction: Transaction,
  { principal: { workspaceId }, submission, contentSha256 }: ProposalInput,
): Promise<Proposal | null> {
  const { idempotency_key: idempotencyKey } = submission
  const batch = await findBatchByKey(transaction, { workspaceId, idempotencyKey })
  if (!batch) return null
  if (!batch.contentSha256.equals(contentSha256)) throw idempotencyConflict()
  return { batch, actions: await findActionsOfBatch(transaction, batch.id), isNew: false }
}

function idempotencyConflict(): Refusal {
  const sentence =
    'The idempotency_key field stands for another proposal of this workspace; choose a new one.'
  return Refusal.ofFields({ idempotency_key: [sentence] })
}

/** The same content from the same credential for the same ad account has the same digest. */
function computeContentDigest(
  { idempotency_key: _, account_id: __, ...content }: ProposalSubmission,
  { proposer, adAccountId }: { proposer: ActionProposer; adAccountId: number },
): Buffer {
  const by = { type: proposer.kind, id: proposer.id }
  const text = canonicalJson({ content, proposed_by: by, ad_account_id: adAccountId })
  return hash('sha256', text, 'buffer')
}

async function buildBatch(
  transaction: Transaction,
  { principal, proposer, submission, contentSha256 }: ProposalInput,
  { evaluated, policyVersion, at }: EvaluatedProposal,
): Promise<NewBatch> {
  const uses = await findToolUses(transaction, principal, new Date(0))
  const { target_source, evidence } = submission
  return {
    workspaceId: principal.workspaceId,
    adAccountId: principal.adAccountId,
    idempotencyKey: submission.idempotency_key,
    contentSha256,
    rationale: submission.rationale,
    provenance: { target_source, evidence: evidence.map(item => buildProvenance(item, uses)) },
    proposer,
    policyVersion,
    policyDecision: strictestDecision(evaluated.map(({ evaluation }) => evaluation.decision)),
    createdAt: at,
    expiresAt: new Date(at.getTime() + APPROVAL_HOURS * HOUR_MILLISECONDS),
  }
}

interface EvaluatedProposal {
  evaluated: readonly EvaluatedAction[]
  policyVersion: number
  at: Date
}

/** Kept with the batch, because the tool may be used again before anybody looks. */
function buildProvenance({ source_tool, fields_used, action_index }: Evidence, uses: Uses) {
  return {
    source_tool,
    fields_used,
    action_index: action_index ?? null,
    tool_used_at: uses.get(source_tool)?.toISOString() ?? null,
  }
}
type Uses = Awaited<ReturnType<typeof findToolUses>>

function strictestDecision(decisions: readonly PolicyDecision[]): PolicyDecision {
  if (decisions.includes('block')) return 'block'
  return decisions.includes('require_approval') ? 'require_approval' : 'allow'
}

/** The entries of the log come last: the chain of the workspace is held from the first one on. */
async function saveProposal(
  transaction: Transaction,
  { audit }: ProposalContext,
  { batch, evaluated }: { batch: Batch; evaluated: readonly EvaluatedAction[] },
): Promise<Proposal> {
  const { id: batchId, workspaceId, proposer, createdAt: at, expiresAt } = batch
  await audit.append(transaction, {
    ...{ workspaceId, at, action: 'proposal.submitted' },
    actor: { type: proposer.kind, id: String(proposer.id) },
    subject: { type: 'batch', id: String(batchId) },
    details: {
      ad_account_id: batch.adAccountId,
      actions: evaluated.length,
      policy_version: batch.policyVersion,
      policy_decision: batch.policyDecision,
      content_sha256: batch.contentSha256.toString('hex'),
    },
  })
  const actions: Action[] = []
  for (const [position, each] of evaluated.entries()) {
    const action = buildNewAction(batch, position, each)
    actions.push(await createAction(transaction, audit, { batchId, action, proposer, expiresAt }))
  }
  return { batch, actions, isNew: true }
}
