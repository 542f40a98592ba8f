// A client over standard input and output, as desktop clients are, through mcp-remote.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const { SIGNALBOX_MCP_URL: url, SIGNALBOX_EXECUTION_TOKEN: token } = process.env
const program = new URL('node_modules/mcp-remote/dist/proxy.js', import.meta.url).pathname
const header = ['--header', `Authorization: Bearer ${token}`]
const options = [program, url, '--allow-http', '--transport', 'http-only', ...header]
const proxy = spawn(process.execPath, options, { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
createInterface(proxy.stdout).on('line', line => {
  const message = JSON.parse(line)
  waiting.get(message.id)?.(message)
})
const send = message => proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
let last = 0
const ask = (method, params = {}) =>
  new Promise(resolve => {
    last += 1
    waiting.set(last, resolve)
    send({ id: last, method, params })
  })
const clientInfo = { name: 'desktop', version: '1' }
await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
send({ method: 'notifications/initialized' })
const { result } = await ask('tools/list')
await ask('tools/call', { name: 'get_account_state', arguments: {} })
const listed = await ask('tools/call', { name: 'list_actions', arguments: {} })
console.log(
  JSON.stringify({
    tools: result.tools.map(({ name }) => name),
    answer: JSON.stringify(listed.result.content),
  }),
)
proxy.kill()
