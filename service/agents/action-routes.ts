import * as operations from '@signalbox/contract/agent-action-operations.ts'
import { limitAddresses } from '../access/address-limits.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import {
  type AgentPrincipal,
  requireExecutionToken,
  requirePermission,
} from '../oauth/authenticate-agent.ts'
import { parseRowId } from '../util/row-id.ts'
import { submitProposal } from './executor/execution-triggers.ts'
import { readPolicy } from './policy/policy-store.ts'
import type { AgentsContext } from './proposals/agents-context.ts'
import { dryRunActions } from './proposals/dry-run-actions.ts'
import { listActions, readAction, readBatch, readReceipt } from './proposals/read-actions.ts'
import { ACCOUNT_MISMATCH } from './proposals/validate-proposal.ts'

/** The routes of actions for execution tokens: the verbs of the MCP tools, over REST. */
export function agentActionRoutes(app: ServiceApp, context: AgentsContext): void {
  if (context.limits.agents) limitAddresses(app, context.limits.agents)
  app.addHook('onRequest', requireExecutionToken(context))
  // After the guard, so that nobody unknown learns which workspaces there are.
  app.addHook('onRequest', async ({ agent, params }) => requireOwnWorkspace(agent, params))
  proposalRoutes(app, context)
  readingRoutes(app, context)
  policyRoute(app, context)
}

interface PathNames {
  workspace: string
  action: string
  batch: string
}

function requireOwnWorkspace(agent: AgentPrincipal, params: unknown): void {
  const { workspace } = params as PathNames
  if (parseRowId(workspace) === agent.workspaceId) return
  throw Refusal.notFound('This token has no such workspace.')
}

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
      return reply.code(200).send(await listActions(context, scopeOf(agent), { status, page }))
    },
  })
  app.route({
    ...operations.getAction,
    async handler({ agent, params }, reply) {
      const { action } = params as unknown as PathNames
      return reply.code(200).send(await readAction(context, scopeOf(agent), action))
    },
  })
  app.route({
    ...operations.getActionDecisionReceipt,
    async handler({ agent, params }, reply) {
      const { action } = params as unknown as PathNames
      return reply.code(200).send(await readReceipt(context, scopeOf(agent), action))
    },
  })
  app.route({
    ...operations.getActionBatch,
    async handler({ agent, params }, reply) {
      const { batch } = params as unknown as PathNames
      return reply.code(200).send(await readBatch(context, scopeOf(agent), batch))
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

/** What the token may read: the actions of its one ad account. */
function scopeOf(agent: AgentPrincipal) {
  requirePermission(agent, 'ad-account.read')
  return { workspaceId: agent.workspaceId, adAccountId: agent.adAccountId }
}

function requireOwnAccount({ adAccountId }: AgentPrincipal, given: unknown): void {
  if (given === undefined || parseRowId(given) === adAccountId) return
  throw Refusal.ofFields({ account_id: [ACCOUNT_MISMATCH] })
}
