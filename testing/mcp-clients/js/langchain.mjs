// LangChain's MCP adapters: the tools as LangChain has them, called without a model.
import { MultiServerMCPClient } from '@langchain/mcp-adapters'

const { SIGNALBOX_MCP_URL: url, SIGNALBOX_EXECUTION_TOKEN: token } = process.env
const headers = { Authorization: `Bearer ${token}` }
const client = new MultiServerMCPClient({
  mcpServers: { signalbox: { transport: 'http', url, headers } },
})
const tools = await client.getTools()
const call = (name, input = {}) => tools.find(tool => tool.name === name).invoke(input)
await call('get_account_state')
const answer = JSON.stringify(await call('list_actions', { status: 'any' }))
await client.close()
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), answer }))
