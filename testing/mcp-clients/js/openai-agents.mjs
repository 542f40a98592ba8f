// OpenAI's Agents SDK for JavaScript, with strict schemas and a model that is played here.
import { Agent, MCPServerStreamableHttp, Runner, setTracingDisabled, Usage } from '@openai/agents'

const { SIGNALBOX_MCP_URL: url, SIGNALBOX_EXECUTION_TOKEN: token } = process.env
setTracingDisabled(true)
const server = new MCPServerStreamableHttp({
  url,
  name: 'signalbox',
  requestInit: { headers: { authorization: `Bearer ${token}` } },
})
await server.connect()

const tools = []
const calls = [
  { name: 'get_account_state', arguments: '{"entity_type":"any","name_contains":"","page":1}' },
  { name: 'list_actions', arguments: '{"status":"any","type":"any","entity_id":"any","page":1}' },
]
let answer = ''
const model = {
  async getResponse(request) {
    if (tools.length === 0) tools.push(...request.tools.map(({ name }) => name))
    const result = request.input.findLast?.(({ type }) => type === 'function_call_result')
    if (result) answer = JSON.stringify(result.output)
    const call = calls.shift()
    const text = { type: 'output_text', text: 'done' }
    const output = call
      ? { type: 'function_call', callId: `call_${calls.length}`, status: 'completed', ...call }
      : { type: 'message', role: 'assistant', status: 'completed', content: [text] }
    return { usage: new Usage(), output: [output], responseId: 'played' }
  },
}
const agent = new Agent({
  name: 'Media buyer',
  model,
  mcpServers: [server],
  mcpConfig: { convertSchemasToStrict: true },
})
await new Runner({ tracingDisabled: true }).run(agent, 'Which actions are there?')
await server.close()
console.log(JSON.stringify({ tools, answer }))
