import type { Refusal } from '../../http/refusal.ts'
import type { AgentPrincipal } from '../../oauth/authenticate-agent.ts'
import type { Permission } from '../../oauth/permissions.ts'
import type { AgentsContext } from '../proposals/agents-context.ts'

/**
 * An MCP tool. Its description addresses a model without prior knowledge. All texts are constants,
 * so that no stored text can appear in them.
 */
export interface AgentTool {
  name: string
  title: string
  /** What it does, when to use it, its limits, and what not to do. */
  description: string
  /** JSON Schema without additional properties. */
  input: object
  /** Who validates the arguments: operations with more rules name all errors themselves. */
  validatedBy: 'schema' | 'operation'
  /** JSON Schema of the structured content. */
  output: object
  annotations: ToolAnnotations
  permission: Permission
  run: (context: AgentsContext, principal: AgentPrincipal, input: unknown) => Promise<object>
}

/** Hints about the effects of a call (MCP, Tool annotations). */
interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  /** Always false: every tool is limited to the one ad account. */
  openWorldHint: false
}

/** For tools that only read. */
export const READ_ONLY: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** The result of a call (MCP, Tool result). */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
}

/** Structured content, and the same as text for clients that read only text. */
export function toToolResult(result: object): ToolResult {
  const text = JSON.stringify(result)
  const structuredContent = result as Record<string, unknown>
  return { content: [{ type: 'text', text }], structuredContent }
}

/** An error with the next step for a model. */
export function toToolError(message: string, nextStep: string): ToolResult {
  return { content: [{ type: 'text', text: `${message}\nNext step: ${nextStep}` }], isError: true }
}

/** A refusal of an operation; every invalid argument has its own line. */
export function toRefusalResult({ status, message, errors, headers }: Refusal): ToolResult {
  const details = Object.values(errors ?? {}).flat()
  const text = details.length > 0 ? ['Refused.', ...details].join('\n- ') : message
  return toToolError(text, nextStepOf(status, headers['retry-after']))
}

function nextStepOf(status: number, retrySeconds: string | undefined): string {
  switch (status) {
    case 403:
      return (
        'do not call this tool again with this credential. Tell the person you work for that it ' +
        'lacks the permission; an owner of the workspace can approve another connection or issue ' +
        'another token.'
      )
    case 404:
      return (
        'call list_actions to see the actions and their statuses; this credential can read only ' +
        'its own ad account.'
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
