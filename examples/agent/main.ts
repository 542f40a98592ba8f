import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { expect } from './expect.ts'
import { isRefused, OPEN_CLIENTS } from './open-clients.ts'
import { Person } from './person.ts'
import { type Credentials, readCredentials } from './read-credentials.ts'
import { MORE_BUDGET, OTHER_STATUS, type Plot, TOOLS, tellStory } from './tell-story.ts'

const USAGE = 'Usage: node examples/agent/main.ts [--credentials FILE]'

/** One for each client, in their order. */
const PLOTS: readonly Plot[] = [
  { decision: 'approve', propose: MORE_BUDGET },
  { decision: 'approve', propose: OTHER_STATUS },
  { decision: 'reject', propose: MORE_BUDGET },
]

try {
  await run(readCredentials(readArguments(process.argv.slice(2))))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

/** Every official client asks a person for access, proposes something and reads the end of it. */
async function run(credentials: Credentials): Promise<void> {
  const mcpUrl = `${new URL(credentials.base_url).origin}/mcp`
  const person = new Person(credentials)
  await person.signIn()
  await person.letApprovedChangesRun()
  for (const [number, [name, open]] of Object.entries(OPEN_CLIENTS).entries()) {
    const plot = PLOTS[number]
    if (!plot) throw new Error(`there is no plot for ${name}`)
    const agent = await open(mcpUrl, url => person.approveAgent(url))
    expect('the version of the server', agent.serverVersion, '0.3.0')
    const told = await tellStory(agent, person, plot)
    await person.endNewestConnection()
    expect('a revoked agent has to ask again', await isRefused(agent), true)
    await agent.close().catch(() => {})
    process.stdout.write(`${name}, MCP ${agent.revision}, ${TOOLS.length} tools: ${told}\n`)
  }
  expect('the audit log is intact', await person.isLogIntact(), true)
  process.stdout.write('Every agent was let in, heard and sent away as the person decided.\n')
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
