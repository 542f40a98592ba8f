import { PROPOSAL_REQUEST } from '../../contract/examples/agent-action-requests.ts'
import {
  buildSimulatedEntities,
  insertSimulatedEntities,
} from '../../service/agents/campaigns/simulated-account-store.ts'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { generateToken, hashToken } from '../../service/runtime/util/token-format.ts'
import { revokeKey } from '../../service/signals/access/key-store.ts'
import { issueKey } from '../../service/signals/access/tracker-keys.ts'
import { issueAgentTokens } from '../fixtures/agent-tokens.ts'
import { createTestAuditTrail } from '../fixtures/audit.ts'
import type { TestService } from '../fixtures/service.ts'
import { findPlatformTarget } from '../fixtures/simulator.ts'
import type { Credential } from './hostile-headers.ts'

/** The accounts of one caller. No other caller uses them, so a run is reproducible. */
export interface FuzzAccounts {
  own: ProvisionedTracker
  /** In another workspace, whose data must never be visible to the first. */
  second: ProvisionedTracker
  revokedSecret: string
  sandboxKey: string
  /** In a separate workspace. */
  agent: FuzzAgent
  /** Text that no response and no log line may contain. */
  secrets: readonly string[]
}

export async function createFuzzAccounts(service: TestService): Promise<FuzzAccounts> {
  const { database, clock } = service
  const own = await service.newTracker()
  const second = await service.newTracker()
  const { trackerId, workspaceId } = own
  const scope = { database, audit: createTestAuditTrail(service) }
  const revokedSecret = await issueKey(scope, {
    trackerId,
    workspaceId,
    kind: 'tracker_secret',
    issuedAt: clock.now(),
  })
  const digest = hashToken(revokedSecret)
  await revokeKey(database, { trackerId, digest, revokedAt: clock.now() })
  const { body } = await service.request('POST', '/api/v1/sandbox/keys')
  const agent = await createFuzzAgent(service)
  const platform = [
    await findPlatformTarget(service, own),
    await findPlatformTarget(service, second),
  ]
  return {
    own,
    second,
    revokedSecret,
    sandboxKey: body.api_key,
    agent,
    secrets: [
      revokedSecret,
      agent.managementToken,
      agent.executionToken,
      ...[own, second].flatMap(({ trackerSecret, forwardingSecret }) => [
        trackerSecret,
        forwardingSecret,
      ]),
      ...platform.map(({ accessToken }) => accessToken),
    ],
  }
}

interface PresentedCredential {
  authorization: string | string[] | null
  queryKey: string | null
}

/** The credential in the form of a request. */
export function presentCredential(
  accounts: FuzzAccounts,
  credential: Credential,
): PresentedCredential {
  const inQuery = IN_QUERY[credential]?.(accounts) ?? null
  return { authorization: IN_HEADER[credential]?.(accounts) ?? null, queryKey: inQuery }
}

type ByCredential<Value> = Partial<Record<Credential, (accounts: FuzzAccounts) => Value>>

const IN_QUERY: ByCredential<string> = {
  publishable_query: ({ own }) => own.publishableKey,
  in_query: ({ own }) => own.trackerSecret,
}

const IN_HEADER: ByCredential<string | string[]> = {
  own: ({ own }) => `Bearer ${own.trackerSecret}`,
  own_lower_scheme: ({ own }) => `bearer  ${own.trackerSecret} `,
  own_cut: ({ own }) => `Bearer ${own.trackerSecret.slice(0, -1)}`,
  own_twice: ({ own }) => [`Bearer ${own.trackerSecret}`, `Bearer ${own.trackerSecret}`],
  publishable: ({ own }) => `Bearer ${own.publishableKey}`,
  second: ({ second }) => `Bearer ${second.trackerSecret}`,
  second_publishable: ({ second }) => `Bearer ${second.publishableKey}`,
  forwarding: ({ own }) => `Bearer ${own.forwardingSecret}`,
  revoked: ({ revokedSecret }) => `Bearer ${revokedSecret}`,
  sandbox: ({ sandboxKey }) => `Bearer ${sandboxKey}`,
  agent: ({ agent }) => `Bearer ${agent.managementToken}`,
  execution: ({ agent }) => `Bearer ${agent.executionToken}`,
  sandbox_changed: ({ sandboxKey }) => `Bearer ${sandboxKey.slice(0, -2)}AA`,
  unknown: () => `Bearer ${generateToken('tracker_secret')}`,
  garbage: () => 'Bearer x.y_z~!',
  basic: ({ own }) => `Basic ${Buffer.from(`${own.trackerSecret}:`).toString('base64')}`,
  non_ascii: () => 'Bearer \xff\xfe\x80',
}

/** The tracker whose data this kind of credential may read, or null. */
export function findVisibleTracker(
  accounts: FuzzAccounts,
  credential: Credential,
): ProvisionedTracker | null {
  if (credential.startsWith('second')) return accounts.second
  const ofOwn = ['own', 'own_lower_scheme', 'publishable', 'publishable_query']
  return ofOwn.includes(credential) ? accounts.own : null
}

/** The trackers whose IDs no response to this credential may contain. */
export function listForeignTrackers(
  accounts: FuzzAccounts,
  credential: Credential,
): ProvisionedTracker[] {
  const known = findVisibleTracker(accounts, credential)
  return [accounts.own, accounts.second].filter(tracker => tracker !== known)
}

/** An agent whose ad account has the entities of the document's examples. */
interface FuzzAgent {
  /** The OAuth management credential. */
  managementToken: string
  executionToken: string
  /** Values of path parameters: the workspace, a pending proposal, and a completed action. */
  ids: Record<'workspace' | 'batch' | 'action', string>
}

/** The ad account of the examples. */
const EXAMPLE_ACCOUNT = { adAccountId: 3, platformAccountId: '1234567890', name: 'Shop EU' }

async function createFuzzAgent(service: TestService): Promise<FuzzAgent> {
  const { database, clock } = service
  const { management, execution, workspace } = await issueAgentTokens(service)
  const { workspaceId, adAccountId } = workspace
  await insertSimulatedEntities(database, {
    adAccountId,
    entities: buildSimulatedEntities(EXAMPLE_ACCOUNT),
    at: clock.now(),
  })
  await database.pool.query(
    `insert into agent_policies
     (workspace_id, version, execution_mode, limits, changed_by, changed_at)
     values ($1, 1, 'auto_with_limits', $2, 1, $3)`,
    [workspaceId, JSON.stringify(WIDE_LIMITS), clock.now()],
  )
  const propose = async (changes: object) => {
    const path = `/api/v1/agent/workspaces/${workspaceId}/actions`
    const body = { ...PROPOSAL_REQUEST, ...changes }
    return (await service.request('POST', path, { secret: execution, body })).body.proposal
  }
  const executed = await propose({ idempotency_key: 'executed' })
  const [raise] = PROPOSAL_REQUEST.actions
  const beyondLimits = { ...raise, params: { new_daily_budget_minor: 900_000 } }
  const pending = await propose({ idempotency_key: 'pending', actions: [beyondLimits] })
  const ids = {
    workspace: String(workspaceId),
    batch: String(pending.id),
    action: String(executed.actions[0].id),
  }
  return { managementToken: management, executionToken: execution, ids }
}

const WIDE_LIMITS = {
  change_percent_max: 200,
  change_minor_max: null,
  daily_total_minor_max: null,
  actions_per_day_max: null,
  allowed_types: ['increase_budget', 'decrease_budget', 'pause', 'resume'],
  quiet_hours: null,
}
