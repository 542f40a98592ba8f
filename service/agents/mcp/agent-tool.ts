import type { Refusal } from '../../http/refusal.ts'
import type { AgentPrincipal } from '../../oauth/authenticate-agent.ts'
import type { Permission } from '../../oauth/permissions.ts'
import type { AgentsContext } from '../proposals/agents-context.ts'

/**
 * One thing that an agent can do over MCP. The words are for a model that has never seen us; they
 * are all written here, so that nothing from the store can ever stand among them.
 */
export interface AgentTool {
  name: string
  title: string
  /** What it does, when to use it, its limits, and what not to do. */
  description: string
  /** JSON Schema, strict: a member that it does not name is refused. */
  input: object
  /** By whom arguments are held to it: a verb may have rules of its own, and names all faults. */
  validatedBy: 'schema' | 'verb'
  /** JSON Schema of the structured content. */
  output: object
  annotations: ToolAnnotations
  permission: Permission
  run: (context: AgentsContext, principal: AgentPrincipal, input: unknown) => Promise<object>
}

/** Hints about what a call does (MCP, Tool annotations). */
interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  /** False everywhere: no tool reaches anything outside of the one ad account. */
  openWorldHint: false
}

/** Of a tool that only reads. */
export const READ_ONLY: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** What a tool call answers (MCP, Tool result). */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
}

/** The answer as structured content, and the same as text for clients that read only that. */
export function toToolResult(result: object): ToolResult {
  const text = JSON.stringify(result)
  const structuredContent = result as Record<string, unknown>
  return { content: [{ type: 'text', text }], structuredContent }
}

/** A "no" with what to do next, in words for a model. */
export function toToolError(sentence: string, nextStep: string): ToolResult {
  return { content: [{ type: 'text', text: `${sentence}\nNext step: ${nextStep}` }], isError: true }
}

/** A refusal of a verb; every wrong argument has a line of its own. */
export function toRefusalResult({ status, message, errors, headers }: Refusal): ToolResult {
  const faults = Object.values(errors ?? {}).flat()
  const sentence = faults.length > 0 ? ['Refused.', ...faults].join('\n- ') : message
  return toToolError(sentence, nextStepOf(status, headers['retry-after']))
}

function nextStepOf(status: number, retrySeconds: string | undefined): string {
  switch (status) {
    case 403:
      return (
        'do not call this tool again with this credential. Tell the person you work for that it ' +
        'may not do this; an owner of the workspace can approve another connection or issue ' +
        'another token.'
      )
    case 404:
      return (
        'look with list_actions for what there is and where it stands; only what belongs to the ' +
        'ad account of this credential is found.'
      )
    case 409:
      return 'read the current state again, then decide whether the call still makes sense.'
    case 422:
      return 'correct what is named above and call the tool again; the same call cannot succeed.'
    case 503:
      return `wait ${retrySeconds ?? 2} seconds, then send exactly the same call again.`
    default:
      return 'tell the person you work for; repeating the same call will not help.'
  }
}
