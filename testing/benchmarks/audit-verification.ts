import { it } from 'node:test'
import { decideActions } from '../../service/agents/approvals/decide-actions.ts'
import { insertSimulatedEntities } from '../../service/agents/campaigns/simulated-account-store.ts'
import { submitProposal } from '../../service/agents/executor/execution-triggers.ts'
import { verifyProposalRecords } from '../../service/agents/proposals/verify-records.ts'
import { verifyChain } from '../../service/audit/verify-chain.ts'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  FIXTURE_AUDIT_KEYS,
  resolvePrincipal,
  setPolicy,
} from '../fixtures/agents.ts'
import { createTestDatabase } from '../fixtures/database.ts'

/**
 * How long the verification of a log takes, with and without the comparison of the tables that it
 * describes. It runs by hand, since it writes a hundred thousand entries one after the other:
 *
 *     npm run test:file -- --test-timeout=3600000 testing/benchmarks/audit-verification.ts
 */
const SIZES = [2_000, 10_000, 100_000]
const ROUNDS = 3
const ACTIONS_PER_BATCH = 25

it('measures the verification of logs of proposals that were rejected', async test => {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'ask')
  const { adAccountId, clock } = fixture
  await insertSimulatedEntities(database, { adAccountId, entities: ADS, at: clock.now() })
  const [{ n: before }] = (
    await database.pool.query('select count(*)::int as n from audit_entries')
  ).rows
  let written = Number(before)
  for (const size of SIZES) {
    while (written < size) written += await writeBatch(fixture)
    await database.pool.query('analyze')
    const chainSeconds = await measure(() => verify(fixture, false))
    const seconds = await measure(() => verify(fixture, true))
    const peakMegabytes = Math.round(process.resourceUsage().maxRSS / 1_000)
    console.log({ entries: written, chainSeconds, seconds, peakMegabytes })
  }
})

const ADS = Array.from({ length: ACTIONS_PER_BATCH }, (_, index) => ({
  ...({ type: 'ad', status: 'active' } as const),
  id: String(1_001 + index),
  name: `Ad ${index}`,
  parent_type: null,
  parent_id: null,
  daily_budget_minor: null,
}))

/** A proposal whose actions are rejected, each with a receipt. Returns the number of entries. */
async function writeBatch(fixture: AgentFixture): Promise<number> {
  const { context, owner: user, workspaceId } = fixture
  const proposal = buildProposal(...ADS.map(() => ({ type: 'pause', entity: 3 }) as const))
  const actions = proposal.actions.map((action, index) => ({
    ...action,
    target_entity: { type: 'ad', id: ADS[index]?.id, name: null },
  }))
  const principal = await resolvePrincipal(fixture)
  const { result } = await submitProposal(context, principal, { ...proposal, actions })
  const batchId = result.proposal.id
  const rejection = { decision: 'reject', reason: 'Not now.' }
  await decideActions(context, { user, workspaceId, batchId }, rejection)
  return 1 + 2 * ACTIONS_PER_BATCH
}

async function verify(
  { database, workspaceId, clock }: AgentFixture,
  comparesRecords: boolean,
): Promise<void> {
  const result = await verifyChain(database, FIXTURE_AUDIT_KEYS, {
    workspaceId,
    now: clock.now(),
    ...(comparesRecords && { verifyRecords: verifyProposalRecords }),
  })
  if (!result.is_intact) throw new Error(result.finding)
}

/** The median of several rounds, in seconds. */
async function measure(run: () => Promise<void>): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now()
    await run()
    rounds.push((performance.now() - start) / 1_000)
  }
  return Number(rounds.sort((one, other) => one - other)[1]?.toFixed(2))
}
