// Vercel's AI SDK: a played model calls a tool through generateText.
import { createMCPClient } from '@ai-sdk/mcp'
import { generateText, stepCountIs } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'

const { SIGNALBOX_MCP_URL: url, SIGNALBOX_EXECUTION_TOKEN: token } = process.env
const headers = { Authorization: `Bearer ${token}` }
const client = await createMCPClient({ transport: { type: 'http', url, headers } })
const tools = await client.tools()
const names = ['get_account_state', 'list_actions']
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const model = new MockLanguageModelV4({
  doGenerate: async () => {
    const toolName = names.shift()
    const isCall = toolName !== undefined
    const call = { type: 'tool-call', toolCallId: `call-${names.length}`, toolName, input: '{}' }
    return {
      content: [isCall ? call : { type: 'text', text: 'done' }],
      finishReason: { unified: isCall ? 'tool-calls' : 'stop', raw: undefined },
      usage,
      warnings: [],
    }
  },
})
const { steps } = await generateText({ model, tools, prompt: 'Which?', stopWhen: stepCountIs(4) })
const results = steps.flatMap(step => step.toolResults)
await client.close()
console.log(JSON.stringify({ tools: Object.keys(tools), answer: JSON.stringify(results.at(-1)) }))
