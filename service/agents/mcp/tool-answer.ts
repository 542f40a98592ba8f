import type { Refusal } from '../../http/refusal.ts'

/** What a tool call answers (MCP, Tool result). */
export interface ToolAnswer {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
}

/** The answer as structured content, and the same as text for clients that read only that. */
export function toolAnswer(result: object): ToolAnswer {
  const text = JSON.stringify(result)
  const structuredContent = result as Record<string, unknown>
  return { content: [{ type: 'text', text }], structuredContent }
}

/** A "no" with what to do next, in words for a model. */
export function toolError(sentence: string, nextStep: string): ToolAnswer {
  return { content: [{ type: 'text', text: `${sentence}\nNext step: ${nextStep}` }], isError: true }
}

/** A refusal of a verb; every wrong argument has a line of its own. */
export function refusedAnswer({ status, message, errors, headers }: Refusal): ToolAnswer {
  const faults = Object.values(errors ?? {}).flat()
  const sentence = faults.length > 0 ? ['Refused.', ...faults].join('\n- ') : message
  return toolError(sentence, nextStepOf(status, headers['retry-after']))
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
