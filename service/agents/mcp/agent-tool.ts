import type { Permission } from '../../oauth/resources.ts'
import type { AgentPrincipal } from '../../oauth/verify-agent-token.ts'
import type { AgentsContext } from './agents-context.ts'

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
  checkedBy: 'schema' | 'verb'
  /** JSON Schema of the structured content. */
  output: object
  annotations: ToolAnnotations
  permission: Permission
  run: (context: AgentsContext, principal: AgentPrincipal, input: unknown) => Promise<object>
}

/** Hints about what a call does (MCP, Tool annotations). */
export interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  /** False everywhere: no tool reaches anything outside of the one ad account. */
  openWorldHint: false
}

/** Of a tool that only reads. */
export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
