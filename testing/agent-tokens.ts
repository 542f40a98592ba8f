import { randomBytes } from 'node:crypto'
import { saveArtifact } from '../service/oauth/artifact-store.ts'
import { insertClient } from '../service/oauth/client-store.ts'
import { saveApproval } from '../service/oauth/connection-store.ts'
import { issueExecutionToken } from '../service/oauth/execution-tokens.ts'
import { type Audience, RESOURCES, resourceUri } from '../service/oauth/permissions.ts'
import { artifactDigest } from '../service/oauth/provider-adapter.ts'
import { trailOf } from './audit-entries.ts'
import { type WorkspaceUnderTest, workspaceUnderTest } from './people-under-test.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

const HOUR_MILLISECONDS = 3_600_000

/** One token of each kind that opens something for agents. */
export interface AgentTokens {
  mcp: string
  management: string
  execution: string
  workspace: WorkspaceUnderTest
}

/** As the authorization server leaves them behind, without the way through its pages. */
export async function agentTokens(service: ServiceUnderTest): Promise<AgentTokens> {
  const workspace = await workspaceUnderTest(service)
  const scope = { database: service.database, audit: trailOf(service) }
  const { token: execution } = await issueExecutionToken(scope, {
    workspaceId: workspace.workspaceId,
    issuedBy: workspace.owner.userId,
    adAccountId: workspace.adAccountId,
    tier: 'admin',
    days: 30,
    name: 'Test token',
    issuedAt: service.clock.now(),
  })
  return {
    mcp: await connectionToken(service, workspace, 'mcp'),
    management: await connectionToken(service, workspace, 'agent'),
    execution,
    workspace,
  }
}

async function connectionToken(
  { database, clock, url }: ServiceUnderTest,
  workspace: WorkspaceUnderTest,
  audience: Audience,
): Promise<string> {
  const [clientId, grantId, token] = [random(), random(), random()]
  const now = clock.now()
  const kind = 'self_registered' as const
  await insertClient(database, { clientId, kind, name: 'Test agent', redirectUris: [] }, now)
  await saveApproval(database, {
    grantId,
    clientId,
    userId: workspace.owner.userId,
    workspaceId: workspace.workspaceId,
    adAccountId: workspace.adAccountId,
    audience,
    permissions: RESOURCES[audience].permissions,
    name: 'Test agent',
    approvedAt: now,
  })
  await saveArtifact(database, {
    model: 'AccessToken',
    id: artifactDigest(token),
    payload: JSON.stringify({ aud: resourceUri(url, audience), grantId }),
    grantId,
    userCode: null,
    uid: null,
    expiresAt: new Date(now.getTime() + HOUR_MILLISECONDS),
  })
  return token
}

function random(): string {
  return randomBytes(32).toString('base64url')
}
