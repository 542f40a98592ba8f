import { DRY_RUN_REQUEST, IMPOSSIBLE_REQUEST, PROPOSAL_REQUEST } from './agent-action-requests.ts'

const ORIGIN = 'https://signalbox.example'
const AT = '2026-11-21T12:00:00.000Z'
const EXPIRES_AT = '2026-11-24T12:00:00.000Z'

const [raise, pause] = PROPOSAL_REQUEST.actions as [Submitted, Submitted]
const [, missing] = DRY_RUN_REQUEST.actions as [Submitted, Submitted]
const [impossible] = IMPOSSIBLE_REQUEST.actions as [Submitted]

interface Submitted {
  type: string
  params: object
  target_entity: { type: string; id: string; name?: string | null }
  rationale: string
}

const proposer = { type: 'execution_token', id: 5, name: 'Budget robot' }
const evidence_provenance = {
  target_source: 'human_supplied',
  evidence: PROPOSAL_REQUEST.evidence.map(item => ({
    ...item,
    tool_used_at: null,
    fields: item.fields_used.map(path => ({
      path,
      is_found: null,
      value: null,
      answered_at: null,
    })),
  })),
}

const campaign = {
  type: 'campaign',
  id: '120200000000003001',
  name: 'Autumn collection - New customers',
  parent_id: '1234567890',
  status: 'active',
  daily_budget_minor: 12_000,
  version: 1,
}
const raised = { ...campaign, daily_budget_minor: 13_500, version: 2 }
const video = {
  type: 'ad',
  id: '120200000000003009',
  name: 'Video - Behind the seams, 15 s',
  parent_id: '120200000000003004',
  status: 'active',
  daily_budget_minor: null,
  version: 1,
}
const visitors = { ...campaign, id: '120200000000003002', name: 'Retargeting - Shop visitors' }
const summer = {
  ...campaign,
  id: '120200000000003003',
  name: 'Newsletter sign-ups - Summer',
  status: 'paused',
  daily_budget_minor: 1_500,
}

const byUser = {
  policy_decision: 'require_approval',
  policy_reasons: [
    {
      code: 'suggest_only',
      message: 'This workspace only accepts suggestions: a person decides and makes the change.',
    },
  ],
}
const byNobody = {
  policy_decision: 'block',
  policy_reasons: [{ code: 'already_paused', message: 'The entity is already paused.' }],
}
const unmoved = {
  policy_version: 0,
  execution_mode: 'suggest_only',
  change_minor: 0,
  change_percent: null,
  day_start_budget_minor: null,
  set_in_motion_minor: null,
  changed_today_minor: 0,
  changed_week_minor: 0,
  changed_month_minor: 0,
  stopped_minor: 0,
  actions_today: 0,
  evaluated_at: AT,
}

const proposed41 = {
  id: 41,
  ...raise,
  proposed_by: proposer,
  ...byUser,
  policy_evidence: {
    ...unmoved,
    change_minor: 1_500,
    change_percent: 12.5,
    day_start_budget_minor: 12_000,
  },
}
const proposed42 = {
  id: 42,
  ...named(pause),
  proposed_by: proposer,
  ...byUser,
  policy_evidence: {
    ...unmoved,
    changed_today_minor: 1_500,
    changed_week_minor: 1_500,
    changed_month_minor: 1_500,
    actions_today: 1,
  },
}
const proposed43 = {
  id: 43,
  ...impossible,
  proposed_by: proposer,
  ...byNobody,
  policy_evidence: {
    ...unmoved,
    day_start_budget_minor: 1_500,
  },
}

const nothingYet = {
  outcome: null,
  after: null,
  decided_at: null,
  decision_reason: null,
  executed_at: null,
  finished_at: null,
  expires_at: EXPIRES_AT,
  created_at: AT,
  updated_at: AT,
}
const waiting = {
  ...nothingYet,
  batch_id: 12,
  status: 'pending',
  explanation:
    'A person can approve or reject it until 2026-11-24T12:00:00.000Z; check again later.',
}

export const ACTION_41 = { ...proposed41, ...waiting, before: campaign, proposed: raised }
export const ACTION_42 = {
  ...proposed42,
  ...waiting,
  before: video,
  proposed: { ...video, status: 'paused', version: 2 },
}
export const ACTION_43 = {
  ...proposed43,
  ...nothingYet,
  batch_id: 13,
  status: 'blocked',
  explanation:
    'The policy of the workspace blocked it and nothing was changed. See policy_reasons; ' +
    'propose something that the policy allows.',
  before: summer,
  proposed: { ...summer, version: 2 },
  finished_at: AT,
}

export const PROPOSAL_12 = {
  proposal: {
    ...ofBatch(12, PROPOSAL_REQUEST),
    status: 'pending_approval',
    ...byUser,
    approval_required: true,
    all_or_nothing: false,
    actions: [proposed41, proposed42],
  },
}
export const PROPOSAL_13 = {
  proposal: {
    ...ofBatch(13, IMPOSSIBLE_REQUEST),
    status: 'blocked',
    ...byNobody,
    approval_required: false,
    all_or_nothing: false,
    actions: [proposed43],
  },
}

export const BATCH_12 = {
  batch: {
    id: 12,
    status: 'pending_approval',
    ad_account_id: 3,
    idempotency_key: PROPOSAL_REQUEST.idempotency_key,
    rationale: PROPOSAL_REQUEST.rationale,
    evidence_provenance,
    proposed_by: proposer,
    policy_decision: 'require_approval',
    all_or_nothing: false,
    undoes: null,
    inbox_url: `${ORIGIN}/w/2/approvals/12`,
    created_at: AT,
    expires_at: EXPIRES_AT,
    actions: [ACTION_41, ACTION_42],
  },
}

const canceled = {
  status: 'rejected',
  outcome: 'canceled',
  explanation:
    'It was rejected and nothing was changed. The credential that proposed it canceled it.',
  finished_at: AT,
}
export const CANCELED_12 = {
  batch: {
    ...BATCH_12.batch,
    status: 'rejected',
    actions: [
      { ...ACTION_41, ...canceled },
      { ...ACTION_42, ...canceled },
    ],
  },
}

export const DRY_RUN = {
  dry_run: {
    actions: [
      {
        type: raise.type,
        target_entity: raise.target_entity,
        status: 'evaluated',
        ...byUser,
        approval_required: true,
        would_auto_execute: false,
        diff: { before: campaign, proposed: raised },
      },
      {
        type: missing.type,
        target_entity: missing.target_entity,
        status: 'dry_run_unavailable',
        reason: 'The ad account has no such entity; check its type and ID.',
      },
    ],
  },
  valid_entities: [campaign, visitors, summer].map(({ type, id, name }) => ({ type, id, name })),
}

export const RECEIPT_43 = {
  document: {
    action_id: 43,
    batch_id: 13,
    workspace_id: 2,
    ad_account_id: 3,
    ...impossible,
    proposed_by: { type: 'execution_token', id: 5 },
    proposed_at: AT,
    ...byNobody,
    policy_evidence: { ...unmoved, day_start_budget_minor: 1_500 },
    decision: null,
    status: 'blocked',
    outcome: null,
    before: summer,
    proposed: { ...summer, version: 2 },
    after: null,
    executed_at: null,
    finished_at: AT,
  },
  document_sha256: '2c04100a5801322206320c4df64e190f13f8eb31f607e843087f58199df7eabc',
  chain_entry: {
    sequence: 6,
    hash: '2cca9c517dbdbfcc8054adaf86e9f1cf68e7123714e76be7ca5bcab2c7dfd505',
  },
  disposition: {
    receipt_status: 'final',
    outcome_status: 'blocked',
    recovery_disposition: 'none',
  },
}

/** What was left out is answered as null. */
function named({ target_entity, ...action }: Submitted): Submitted {
  return { ...action, target_entity: { ...target_entity, name: target_entity.name ?? null } }
}

function ofBatch(id: number, { rationale }: { rationale: string }) {
  return {
    id,
    scope: { workspace_id: 2, ad_account_id: 3 },
    evidence_provenance,
    inbox_url: `${ORIGIN}/w/2/approvals/${id}`,
    approval_queue_url: `${ORIGIN}/w/2/approvals`,
    rationale,
    proposed_by: proposer,
  }
}
