import type { TestContext } from 'node:test'
import { seedSimulatedAccount } from '../service/agents/executor/simulated-account-store.ts'
import { issueExecutionToken } from '../service/oauth/execution-tokens.ts'
import { trailOf } from './audit-entries.ts'
import { addAdAccount, type WorkspaceUnderTest, workspaceUnderTest } from './people-under-test.ts'
import {
  type Reply,
  type RequestOptions,
  type ServiceUnderTest,
  serviceUnderTest,
  type UnderTestOptions,
} from './service-under-test.ts'

/** A workspace whose ad account has simulated campaigns, and programs that act in it. */
export interface ActionsUnderTest {
  service: ServiceUnderTest
  workspace: WorkspaceUnderTest
  /** Of the tier Write. */
  token: string
  /** Names one of the simulated entities of the ad account, counted from 1. */
  entityId(position: number, adAccountId?: number): string
  /** Below `/api/v1/agent/workspaces/{workspace}`, with that token unless another is given. */
  ask(method: string, path: string, options?: RequestOptions): Promise<Reply>
  issueToken(wish?: { tier?: string; adAccountId?: number; name?: string }): Promise<string>
  /** One more ad account of the workspace, with campaigns of its own. */
  addAccount(): Promise<number>
}

export async function actionsUnderTest(
  test: TestContext,
  options: UnderTestOptions = {},
): Promise<ActionsUnderTest> {
  const service = await serviceUnderTest(test, options)
  return actionsIn(service)
}

/** The same in a service that runs already. */
export async function actionsIn(
  service: ServiceUnderTest,
  { platformAccountId }: { platformAccountId?: string } = {},
): Promise<ActionsUnderTest> {
  const workspace = await workspaceUnderTest(service)
  const { workspaceId, adAccountId } = workspace
  if (platformAccountId) {
    await service.database.pool.query(
      'update ad_accounts set platform_account_id = $2 where id = $1',
      [adAccountId, platformAccountId],
    )
  }
  await seedAccount(service, adAccountId)
  const issueToken = (wish: { tier?: string; adAccountId?: number; name?: string } = {}) =>
    issued(service, workspace, wish)
  const token = await issueToken()
  const base = `/api/v1/agent/workspaces/${workspaceId}`
  return {
    service,
    workspace,
    token,
    entityId: (position, account = adAccountId) =>
      String(120_200_000_000_000_000n + BigInt(account) * 1_000n + BigInt(position)),
    ask: (method, path, asked = {}) =>
      service.request(method, base + path, { secret: token, ...asked }),
    issueToken,
    async addAccount() {
      const added = await addAdAccount(service, workspaceId, 'Shop US')
      await seedAccount(service, added)
      return added
    },
  }
}

/** A proposal of one action that needs a person; `changes` go over it. */
export function proposalOf(targetId: string, changes: object = {}): Record<string, unknown> {
  return {
    actions: [
      {
        type: 'increase_budget',
        params: { new_daily_budget_minor: 13_500 },
        target_entity: { type: 'campaign', id: targetId },
        rationale: 'It sells.',
      },
    ],
    rationale: 'The owner asked for it.',
    idempotency_key: 'key-1',
    evidence: [{ source_tool: 'get_performance', fields_used: ['ledger'] }],
    target_source: 'human_supplied',
    ...changes,
  }
}

/** Gives an ad account its simulated campaigns. */
export async function seedAccount({ database, clock }: ServiceUnderTest, adAccountId: number) {
  const { rows } = await database.pool.query(
    'select platform_account_id, name from ad_accounts where id = $1',
    [adAccountId],
  )
  const { platform_account_id: platformAccountId, name } = rows[0]
  const account = { adAccountId, platformAccountId, name, at: clock.now() }
  await seedSimulatedAccount(database, account)
}

async function issued(
  service: ServiceUnderTest,
  { workspaceId, adAccountId, owner }: WorkspaceUnderTest,
  wish: object,
): Promise<string> {
  const { database, clock } = service
  const { token } = await issueExecutionToken(
    { database, audit: trailOf(service) },
    {
      ...{ workspaceId, adAccountId, issuedBy: owner.userId, issuedAt: clock.now() },
      ...{ tier: 'write', days: 30, name: 'Budget robot', ...wish },
    },
  )
  return token
}
