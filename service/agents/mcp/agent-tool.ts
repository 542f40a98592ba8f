import type { Permission } from '@signalbox/contract/session/agent-permissions.ts'
import type { Static, TSchema } from 'typebox'
import type { FieldErrors, Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import type { AgentsContext } from '../agents-context.ts'

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
  /** JSON Schema of the structured content. */
  output: object
  annotations: ToolAnnotations
  permission: Permission
  /** Validates the arguments, unless the operation does, and returns the call. */
  prepare: (
    input: unknown,
  ) => (context: AgentsContext, principal: AgentPrincipal) => Promise<object>
}

type ToolDefinition<Input> = Omit<AgentTool, 'input' | 'prepare'> & {
  run: (context: AgentsContext, principal: AgentPrincipal, input: Input) => Promise<object>
}

/** A tool whose schema describes its arguments in full. */
export function schemaTool<Input extends TSchema>({
  run,
  ...tool
}: ToolDefinition<Static<Input>> & { input: Input }): AgentTool {
  const validator = new Validator<Input>(tool.input, { nullIsAbsent: true })
  const prepare: AgentTool['prepare'] = given => {
    const input = validator.validate(given)
    return (context, principal) => run(context, principal, input)
  }
  return { ...tool, prepare }
}

/** A tool whose operation validates the arguments, because it has more rules than their schema. */
export function operationTool({
  run,
  ...tool
}: ToolDefinition<unknown> & { input: TSchema }): AgentTool {
  return { ...tool, prepare: given => (context, principal) => run(context, principal, given) }
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

/** A refusal of an operation: a line for each invalid argument, and one for many equal errors. */
export function toRefusalResult({ status, message, errors, headers }: Refusal): ToolResult {
  const lines = mergeEqualErrors(errors ?? {})
  const shown = lines.slice(0, ERROR_LINES_MAX)
  const omitted = lines.length - shown.length
  if (omitted > 0) shown.push(`${omitted} other errors are left out.`)
  const text = shown.length > 0 ? ['Refused.', ...shown].join('\n- ') : message
  return toToolError(text, nextStepOf(status, headers['retry-after']))
}

/** A model needs no more to correct its call. */
const ERROR_LINES_MAX = 25

/** The position of an item in a path, such as in `actions.24.params`. */
const POSITION = /\.\d+(?=\.|$)/g

/** Errors that differ only in the position of their item, such as one in each of 25 actions. */
function mergeEqualErrors(errors: FieldErrors): string[] {
  const all = Object.entries(errors).flatMap(([field, sentences]) =>
    sentences.map(sentence => ({ field, sentence })),
  )
  const groups = Map.groupBy(all, ({ field, sentence }) =>
    sentence.replaceAll(field, field.replace(POSITION, '.*')),
  )
  return [...groups].map(([pattern, [first, ...others]]) => {
    const last = others.at(-1)
    if (!first || !last) return first?.sentence ?? pattern
    return `${pattern} (${others.length + 1} times, from ${first.field} to ${last.field})`
  })
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
      return 'read the current state again, then decide whether to repeat the call.'
    case 422:
      return 'correct what is named above and call the tool again; the same call cannot succeed.'
    case 503:
      return `wait ${retrySeconds ?? 2} seconds, then send exactly the same call again.`
    default:
      return 'tell the person you work for; repeating the same call will not help.'
  }
}
