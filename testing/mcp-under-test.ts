import { insertSimulatedEntities } from '../service/agents/executor/simulated-account-store.ts'
import { ENTITIES } from './agent-stage.ts'
import { type AgentTokens, agentTokens } from './agent-tokens.ts'
import type { WorkspaceUnderTest } from './people-under-test.ts'
import type { Reply, ServiceUnderTest } from './service-under-test.ts'

/** What every client of Streamable HTTP sends. */
export const MCP_HEADERS = { accept: 'application/json, text/event-stream' }

/** A service whose MCP server has an ad account with simulated campaigns behind it. */
export interface McpUnderTest {
  service: ServiceUnderTest
  tokens: AgentTokens
  /** One message by hand; `token` is the connection's unless another or none is given. */
  send(message: unknown, options?: SendOptions): Promise<Reply>
  /** One request of JSON-RPC, and its answer out of JSON or a stream. */
  ask(method: string, parameters?: object, options?: SendOptions): Promise<Answer>
  /** One tool call. */
  call(name: string, given?: object, options?: SendOptions): Promise<ToolResult>
}

export interface SendOptions {
  token?: string | null
  headers?: Record<string, string>
}

// biome-ignore-start lint/suspicious/noExplicitAny: tests assert on the shape of any answer
export interface Answer {
  status: number
  result: any
  error: any
}

export interface ToolResult {
  isError: boolean
  text: string
  /** Structured content; null when there is none. */
  content: any
}
// biome-ignore-end lint/suspicious/noExplicitAny: see above

export async function mcpUnderTest(service: ServiceUnderTest): Promise<McpUnderTest> {
  const tokens = await agentTokens(service)
  const { adAccountId } = tokens.workspace
  const at = service.clock.now()
  await insertSimulatedEntities(service.database, { adAccountId, entities: ENTITIES, at })
  await bindTracker(service, tokens.workspace)
  const send = (message: unknown, { token = tokens.mcp, headers = {} }: SendOptions = {}) =>
    service.request('POST', '/mcp', {
      secret: token,
      body: message,
      headers: { ...MCP_HEADERS, ...headers },
    })
  const ask = async (method: string, params: object = {}, options: SendOptions = {}) => {
    const reply = await send({ jsonrpc: '2.0', id: 7, method, params }, options)
    const { result = null, error = null } = messageOf(reply)
    return { status: reply.status, result, error }
  }
  const call = async (name: string, given: object = {}, options: SendOptions = {}) => {
    const { result, error } = await ask('tools/call', { name, arguments: given }, options)
    if (error) throw new Error(`${name}: ${JSON.stringify(error)}`)
    const { isError = false, content, structuredContent = null } = result
    return { isError, text: content[0].text, content: structuredContent }
  }
  return { service, tokens, send, ask, call }
}

/** The one message that an answer holds. */
function messageOf({ text }: Reply): Pick<Answer, 'result' | 'error'> {
  const event = /^data: (.+)$/m.exec(text)?.[1]
  return JSON.parse(event ?? text)
}

/** The tracker of the service delivers for the ad account of the tokens. */
async function bindTracker(
  { database: { pool }, tracker }: ServiceUnderTest,
  { workspaceId, adAccountId }: WorkspaceUnderTest,
): Promise<void> {
  const { trackerId } = tracker
  await pool.query('update trackers set workspace_id = $2 where id = $1', [trackerId, workspaceId])
  await pool.query('update destinations set platform_ad_account_id = $2 where tracker_id = $1', [
    trackerId,
    adAccountId,
  ])
}
