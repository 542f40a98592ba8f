import { bodyCheck } from '../../http/checked-body.ts'
import { refusalOf } from '../../http/failure-answers.ts'
import { Refusal } from '../../http/refusal.ts'
import { type AgentPrincipal, requirePermission } from '../../oauth/verify-agent-token.ts'
import { findToolUses, noteToolUse } from '../proposals/tool-use-store.ts'
import { ACCOUNT_STATE_SECONDS, FIRST_TOOL } from './account-tools.ts'
import type { AgentTool } from './agent-tool.ts'
import { AGENT_TOOLS } from './agent-tools.ts'
import type { AgentsContext } from './agents-context.ts'
import { refusedAnswer, type ToolAnswer, toolAnswer, toolError } from './tool-answer.ts'

export interface ToolCall {
  tool: AgentTool
  principal: AgentPrincipal
  /** The arguments, as they came. */
  given: unknown
  requestId: string
}

/**
 * One tool call from its arguments to its answer. Whatever goes wrong is an answer too, with the
 * next step in it: a model can act on that, and cannot on a broken protocol. What is a mistake of
 * ours is logged.
 */
export async function callTool(context: AgentsContext, call: ToolCall): Promise<ToolAnswer> {
  const { tool, principal, given } = call
  try {
    requirePermission(principal, tool.permission)
    const input = tool.checkedBy === 'schema' ? CHECKS.get(tool.name)?.(given) : given
    if (!(await knowsAccount(context, call))) return ACCOUNT_STATE_FIRST
    const result = await tool.run(context, principal, input)
    // Only what was answered counts as read: it can be evidence of a proposal.
    await noteToolUse(context.database, principal, tool.name, context.now())
    return toolAnswer(result)
  } catch (error) {
    return failedAnswer(context, call, error)
  }
}

const CHECKS = new Map(AGENT_TOOLS.map(({ name, input }) => [name, bodyCheck<object>(input)]))

const ACCOUNT_STATE_FIRST = toolError(
  `${FIRST_TOOL} has not been called with this credential within the last hour.`,
  `call ${FIRST_TOOL} without arguments, read its answer, then send this call again.`,
)

/** Whoever acts must have seen the account, its currency and its rules not long ago. */
async function knowsAccount(
  { database, now }: AgentsContext,
  { tool, principal }: ToolCall,
): Promise<boolean> {
  if (tool.name === FIRST_TOOL) return true
  const since = new Date(now().getTime() - ACCOUNT_STATE_SECONDS * 1_000)
  const uses = await findToolUses(database, principal, since)
  return uses.has(FIRST_TOOL)
}

function failedAnswer(
  { logger }: AgentsContext,
  { tool, requestId }: ToolCall,
  error: unknown,
): ToolAnswer {
  const refusal = refusalOf(error as Error, '/')
  if (error instanceof Refusal || refusal.status === 503) return refusedAnswer(refusal)
  logger.error({ err: error, request_id: requestId, tool: tool.name }, 'tool call failed')
  return toolError(
    `Something went wrong on our side; ${requestId} helps us find it.`,
    'send the same call once more; if it fails again, tell the person you work for.',
  )
}
