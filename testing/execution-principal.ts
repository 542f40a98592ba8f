import { type AgentPrincipal, verifyAgentToken } from '../service/oauth/authenticate-agent.ts'
import { issueExecutionToken } from '../service/oauth/execution-tokens.ts'
import type { Tier } from '../service/oauth/permissions.ts'
import type { AgentStage } from './agent-stage.ts'

/** Whom one more execution token of a stage speaks for. */
export async function executionPrincipal(
  { context, workspaceId, adAccountId, responsible }: AgentStage,
  { tier = 'write', account = adAccountId }: { tier?: Tier; account?: number } = {},
): Promise<AgentPrincipal> {
  const { database, now, publicOrigin } = context
  const { token } = await issueExecutionToken(context, {
    ...{ workspaceId, issuedBy: responsible.userId, adAccountId: account },
    ...{ tier, days: 30, name: `Another ${tier} token`, issuedAt: now() },
  })
  const place = { audience: 'mcp', origin: publicOrigin(), now: now() } as const
  return verifyAgentToken(database, { authorization: `Bearer ${token}`, ...place })
}
