import * as operations from '@signalbox/contract/agent-action-operations.ts'
import Type from 'typebox'
import { limitAddresses } from '../runtime/http/client-address.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { parseRowId } from '../runtime/util/ids.ts'
import {
  type AgentPrincipal,
  requireExecutionToken,
  requirePermission,
} from '../workspaces/oauth/authenticate-agent.ts'
import type { AgentsContext } from './agents-context.ts'
import { submitProposal } from './executor/execution-triggers.ts'
import { readPolicy } from './policy/policy-store.ts'
import { dryRunActions } from './proposals/evaluate-actions.ts'
import {
  agentScope,
  listActions,
  type ReadScope,
  readAction,
  readBatch,
  readReceipt,
} from './proposals/read-actions.ts'
import { cancelProposal } from './proposals/transition-action.ts'
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

function requireOwnWorkspace(agent: AgentPrincipal, params: unknown): void {
  const { workspace } = readPathParameters(params, 'workspace')
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
      requireOwnAccount(agent, query)
      return reply.code(200).send(await listActions(context, requireReadScope(agent), query))
    },
  })
  app.route({
    ...operations.getAction,
    async handler({ agent, params }, reply) {
      const { action } = readPathParameters(params, 'action')
      return reply.code(200).send(await readAction(context, requireReadScope(agent), action))
    },
  })
  app.route({
    ...operations.getActionDecisionReceipt,
    async handler({ agent, params }, reply) {
      const { action } = readPathParameters(params, 'action')
      return reply.code(200).send(await readReceipt(context, requireReadScope(agent), action))
    },
  })
  app.route({
    ...operations.getActionBatch,
    async handler({ agent, params }, reply) {
      const { batch } = readPathParameters(params, 'batch')
      return reply.code(200).send(await readBatch(context, requireReadScope(agent), batch))
    },
  })
}

function cancelRoute(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.cancelProposal,
    async handler({ agent, params }, reply) {
      const { batch } = readPathParameters(params, 'batch')
      return reply.code(200).send(await cancelProposal(context, agent, batch))
    },
  })
}

function policyRoute(app: ServiceApp, { database, now }: AgentsContext): void {
  app.route({
    ...operations.getActionPolicy,
    async handler({ agent }, reply) {
      requirePermission(agent, 'ad-account.read')
      const policy = await readPolicy(database, agent.workspaceId, now())
      return reply.code(200).send({ policy })
    },
  })
}

function requireReadScope(agent: AgentPrincipal): ReadScope {
  requirePermission(agent, 'ad-account.read')
  return agentScope(agent)
}

const { account_id } = operations.listActions.schema.querystring.properties
const accountValidator = new Validator(Type.Object({ account_id }), {
  coerceTypes: true,
  members: { account_id: { error: ACCOUNT_MISMATCH } },
})

function requireOwnAccount({ adAccountId }: AgentPrincipal, query: unknown): void {
  const { account_id: accountId = adAccountId } = accountValidator.validate(query)
  if (accountId !== adAccountId) throw Refusal.ofFields({ account_id: [ACCOUNT_MISMATCH] })
}
