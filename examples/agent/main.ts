import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { AccountOwner, type Credentials, readCredentials } from './account-owner.ts'
import { isRevoked, OPEN_CLIENTS } from './mcp-clients.ts'
import {
  expectEqual,
  INCREASE_BUDGET,
  runScenario,
  type Scenario,
  TOGGLE_STATUS,
  TOOLS,
} from './scenario.ts'

const USAGE = 'Usage: node examples/agent/main.ts [--credentials FILE]'

/** One for each client, in their order. */
const SCENARIOS: readonly Scenario[] = [
  { decision: 'approve', propose: INCREASE_BUDGET },
  { decision: 'approve', propose: TOGGLE_STATUS },
  { decision: 'reject', propose: INCREASE_BUDGET },
]

try {
  await run(readCredentials(readArguments(process.argv.slice(2))))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

/** Every official client asks for access, proposes a change and reads the result. */
async function run(credentials: Credentials): Promise<void> {
  const mcpUrl = `${new URL(credentials.base_url).origin}/mcp`
  const person = new AccountOwner(credentials)
  await person.signIn()
  await person.enableApprovals()
  for (const [number, [name, open]] of Object.entries(OPEN_CLIENTS).entries()) {
    const plot = SCENARIOS[number]
    if (!plot) throw new Error(`there is no plot for ${name}`)
    const agent = await open(mcpUrl, url => person.approveAgent(url))
    expectEqual('the version of the server', agent.serverVersion, '0.3.0')
    const answered = await runScenario(agent, person, plot)
    await person.revokeNewestConnection()
    expectEqual('a revoked agent has to ask again', await isRevoked(agent), true)
    await agent.close().catch(() => {})
    process.stdout.write(`${name}, MCP ${agent.revision}, ${TOOLS.length} tools: ${answered}\n`)
  }
  expectEqual('the audit log is intact', await person.isLogIntact(), true)
  process.stdout.write('Every agent was connected, decided on and disconnected.\n')
}

function readArguments(argumentList: string[]): string {
  try {
    const credentials = { type: 'string', default: join('.data', 'credentials.json') } as const
    const { values } = parseArgs({ args: argumentList, options: { credentials } })
    return values.credentials
  } catch (cause) {
    throw new Error(USAGE, { cause })
  }
}
