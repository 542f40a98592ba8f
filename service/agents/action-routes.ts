import * as operations from '@signalbox/contract/agent-action-operations.ts'
import { limitAddresses } from '../runtime/http/address-limits.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { parseRowId } from '../runtime/util/row-id.ts'
import {
  type AgentPrincipal,
  requireExecutionToken,
  requirePermission,
} from '../workspaces/oauth/authenticate-agent.ts'
import type { AgentsContext } from './agents-context.ts'
import { submitProposal } from './executor/execution-triggers.ts'
import { readPolicy } from './policy/policy-store.ts'
import { cancelProposal } from './proposals/cancel-proposal.ts'
import { dryRunActions } from './proposals/dry-run-actions.ts'
import {
  agentScope,
  listActions,
  type ReadScope,
  readAction,
  readBatch,
  readReceipt,
} from './proposals/read-actions.ts'
import { ACCOUNT_MISMATCH } from './proposals/validate-proposal.ts'

/** REST routes for execution tokens: the same operations as the MCP tools. */
export function agentActionRoutes(app: ServiceApp, context: AgentsContext): void {
  if (context.limits.agents) limitAddresses(app, context.limits.agents)
  app.addHook('onRequest', requireExecutionToken(context))
  // After authentication, so that unauthenticated callers cannot probe workspaces.
  app.addHook('onRequest', async ({ agent, params }) => requireOwnWorkspace(agent, params))
  proposalRoutes(app, context)
  readingRoutes(app, context)
  cancelRoute(app, context)
  policyRoute(app, context)
}

interface PathParams {
  workspace: string
  action: string
  batch: string
}

function requireOwnWorkspace(agent: AgentPrincipal, params: unknown): void {
  const { workspace } = params as PathParams
  if (parseRowId(workspace) === agent.workspaceId) return
  throw Refusal.notFound(WORKSPACE_MISMATCH)
}

const WORKSPACE_MISMATCH =
  'This token has no such workspace. Use the workspace that issued the token: its number is in ' +
  'the address of its pages, /workspaces/{workspace}.'

function proposalRoutes(app: ServiceApp, context: AgentsContext): void {
  const bodyLimit = operations.PROPOSAL_BYTES_MAX
  app.route({
    ...operations.dryRunActions,
    bodyLimit,
    async handler({ agent, body }, reply) {
      return reply.code(200).send(await dryRunActions(context, agent, body))
    },
  })
  app.route({
    ...operations.proposeActions,
    bodyLimit,
    async handler({ agent, body }, reply) {
      const { result, isNew } = await submitProposal(context, agent, body)
      return reply.code(isNew ? 201 : 200).send(result)
    },
  })
}

function readingRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.listActions,
    async handler({ agent, query }, reply) {
      const { status, page, account_id: accountId } = query as Record<string, unknown>
      requireOwnAccount(agent, accountId)
      return reply
        .code(200)
        .send(await listActions(context, requireReadScope(agent), { status, page }))
    },
  })
  app.route({
    ...operations.getAction,
    async handler({ agent, params }, reply) {
      const { action } = params as unknown as PathParams
      return reply.code(200).send(await readAction(context, requireReadScope(agent), action))
    },
  })
  app.route({
    ...operations.getActionDecisionReceipt,
    async handler({ agent, params }, reply) {
      const { action } = params as unknown as PathParams
      return reply.code(200).send(await readReceipt(context, requireReadScope(agent), action))
    },
  })
  app.route({
    ...operations.getActionBatch,
    async handler({ agent, params }, reply) {
      const { batch } = params as unknown as PathParams
      return reply.code(200).send(await readBatch(context, requireReadScope(agent), batch))
    },
  })
}

function cancelRoute(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.cancelProposal,
    async handler({ agent, params }, reply) {
      const { batch } = params as unknown as PathParams
      return reply.code(200).send(await cancelProposal(context, agent, batch))
    },
  })
}

function policyRoute(app: ServiceApp, { database }: AgentsContext): void {
  app.route({
    ...operations.getActionPolicy,
    async handler({ agent }, reply) {
      requirePermission(agent, 'ad-account.read')
      return reply.code(200).send({ policy: await readPolicy(database, agent.workspaceId) })
    },
  })
}

function requireReadScope(agent: AgentPrincipal): ReadScope {
  requirePermission(agent, 'ad-account.read')
  return agentScope(agent)
}

function requireOwnAccount({ adAccountId }: AgentPrincipal, accountId: unknown): void {
  if (accountId === undefined || parseRowId(accountId) === adAccountId) return
  throw Refusal.ofFields({ account_id: [ACCOUNT_MISMATCH] })
}
