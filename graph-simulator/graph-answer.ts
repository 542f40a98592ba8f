import { type Answer, jsonTextAnswer } from './answer.ts'
import type { FaultResponse } from './fault-rule.ts'
import { type GraphRefusal, graphRefusalBody } from './graph-refusal.ts'

/** The version that answers, whatever version was asked: the newest known of Meta's. */
const GRAPH_VERSION = 'v26.0'

/** Graph's code for "unknown, possibly downtime". */
const CODE_UNKNOWN = 1

/** An answer with the headers that every answer of the Graph API carries. */
export function graphAnswer(status: number, body: string, traceId: string): Answer {
  const answer = jsonTextAnswer(status, body)
  answer.headers['x-fb-trace-id'] = traceId
  answer.headers['facebook-api-version'] = GRAPH_VERSION
  return answer
}

export function refusalAnswer(refusal: GraphRefusal, traceId: string): Answer {
  return graphAnswer(refusal.status, graphRefusalBody(refusal, traceId), traceId)
}

/** What a fault rule makes the simulator say. Its own headers win over ours. */
export function scriptedAnswer(response: FaultResponse, traceId: string): Answer {
  const answer =
    response.body === undefined
      ? refusalAnswer(scriptedRefusal(response), traceId)
      : graphAnswer(response.status, response.body, traceId)
  return withHeaders(answer, response.headers)
}

/** The same answer with these headers, which win over those that it has. */
export function withHeaders(answer: Answer, added: Record<string, string> = {}): Answer {
  const headers = { ...answer.headers }
  for (const [name, value] of Object.entries(added)) headers[name.toLowerCase()] = value
  return { ...answer, headers }
}

function scriptedRefusal(response: FaultResponse): GraphRefusal {
  const { status, code = CODE_UNKNOWN, subcode, is_transient, user_title, user_msg } = response
  return {
    status,
    type: 'OAuthException',
    message: response.message ?? `(#${code}) Scripted failure`,
    code,
    ...(subcode !== undefined && { subcode }),
    ...(is_transient !== undefined && { isTransient: is_transient }),
    ...(user_title !== undefined && { userTitle: user_title }),
    ...(user_msg !== undefined && { userMessage: user_msg }),
  }
}
