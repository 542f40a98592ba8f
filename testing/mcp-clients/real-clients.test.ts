// Full run only: installs the clients that people use.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createMcpFixture, type McpFixture } from '../fixtures/mcp.ts'
import { approve, CALLBACK, checkTokenAccess, startOauthFixture } from '../fixtures/oauth.ts'
import { startTestService } from '../fixtures/service.ts'
import {
  download,
  findProgram,
  type Language,
  openToolchain,
  runTool,
  UnavailableError,
} from '../toolchains.ts'

// From their registries, 300 MB, with these versions. Their models are played, since none is reachable.
const NPM_PACKAGES = [
  ...['@openai/agents@0.20.0', '@langchain/mcp-adapters@1.1.4', '@langchain/core@1.4.0'],
  ...['ai@7.0.173', '@ai-sdk/mcp@2.0.99', '@modelcontextprotocol/inspector@2.12.0'],
  ...['mcp-remote@0.15.1', 'openid-client@6.9.0', 'zod@4.6.7'],
]
const INSPECTOR = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
const TIMEOUT = { timeout: 900_000 }

interface Finding {
  tools: string[]
  /** What list_actions answered, as the client has it. */
  answer: string
}

it('clients for JavaScript list the tools and read', TIMEOUT, async test => {
  const folder = openFolder(test, 'typescript', target => {
    writeFileSync(join(target, 'package.json'), '{"private":true,"type":"module"}')
    const options = ['--save-exact', '--ignore-scripts', '--no-audit', '--no-fund']
    install(['npm', 'install', ...options, ...NPM_PACKAGES], target)
    cpSync(join(import.meta.dirname, 'js'), target, { recursive: true })
  })
  if (folder === null) return
  const mcp = await createMcpFixture(await startTestService(test))
  for (const name of ['openai-agents', 'langchain', 'ai-sdk', 'stdio']) {
    const command = [process.execPath, join(folder, `${name}.mjs`)]
    await test.test(name, async () => assertReads(mcp, await runClient(mcp, command)))
  }
  await test.test('MCP Inspector', async () => {
    const { url } = mcp.service
    const header = ['--header', `Authorization: Bearer ${mcp.tokens.execution}`]
    const inspect = async (...more: string[]) => {
      const options = ['--cli', `${url}/mcp`, '--transport', 'http', ...header]
      const command = [process.execPath, join(folder, INSPECTOR), ...options, ...more]
      return JSON.parse(await runProgram(mcp, command))
    }
    const { tools } = await inspect('--method', 'tools/list')
    const call = ['--method', 'tools/call', '--tool-name']
    await inspect(...call, 'get_account_state')
    const answer = await inspect(...call, 'list_actions', '--tool-arg', 'status=any')
    const names = tools.map(({ name }: { name: string }) => name)
    await assertReads(mcp, { tools: names, answer: JSON.stringify(answer) })
  })
  await test.test('openid-client', child => connectWithOpenidClient(child, folder))
})

/** Each is installed alone, because what they need of each other conflicts. */
for (const [script, packages] of [
  ['openai_agents', ['openai-agents==0.24.0']],
  ['langchain_adapters', ['langchain-mcp-adapters==0.3.2']],
  ['fastmcp_client', ['fastmcp==4.2.3']],
] as const) {
  it(`${script} for Python lists the tools and reads`, TIMEOUT, async test => {
    const folder = openFolder(test, 'python', target => {
      runTool([findProgram('python'), '-m', 'venv', target], target)
      const pip = ['install', '--quiet', '--disable-pip-version-check']
      install([join(target, 'bin/pip'), ...pip, ...packages], target)
    })
    if (folder === null) return
    const mcp = await createMcpFixture(await startTestService(test))
    const program = join(import.meta.dirname, 'python', `${script}.py`)
    const finding = await runClient(mcp, [join(folder, 'bin/python'), program])
    await assertReads(mcp, finding)
  })
}

it('the Go SDK reads with a token of golang.org/x/oauth2', TIMEOUT, async test => {
  const folder = openFolder(test, 'go', target => {
    findProgram('go')
    cpSync(join(import.meta.dirname, 'go'), target, { recursive: true })
    install(['go', 'build', '-o', 'client', '.'], target)
  })
  if (folder === null) return
  const service = await startTestService(test)
  const mcp = await createMcpFixture(service)
  const { send } = { send: service.request }
  const registered = await send('POST', '/oauth/register', {
    secret: null,
    body: { client_name: 'Go agent', redirect_uris: [CALLBACK] },
  })
  const client = spawn(join(folder, 'client'), {
    env: {
      SIGNALBOX_ORIGIN: service.url,
      SIGNALBOX_CALLBACK: CALLBACK,
      SIGNALBOX_CLIENT_ID: registered.body.client_id,
    },
  })
  test.after(() => client.kill('SIGKILL'))
  const errors = text(client.stderr)
  const exited = once(client, 'exit')
  const lines: string[] = []
  for await (const line of createInterface(client.stdout)) {
    lines.push(line)
    if (lines.length > 1) continue
    const callback = await approve(mcp.tokens.workspace, new URL(line))
    client.stdin.end(`${callback.href}\n`)
  }
  assert.deepEqual(await exited, [0, null], await errors)
  await assertReads(mcp, JSON.parse(lines[1] ?? '{}'))
})

/** A whole connection with the library of Node's OpenID community: discovery to refresh. */
async function connectWithOpenidClient(test: TestContext, folder: string): Promise<void> {
  const fixture = await startOauthFixture(test)
  const entry = join(folder, 'node_modules/openid-client/build/index.js')
  const client = await import(pathToFileURL(entry).href)
  const clientId = await fixture.register()
  const options = { algorithm: 'oauth2', execute: [client.allowInsecureRequests] }
  const server = new URL(fixture.service.url)
  const config = await client.discovery(server, clientId, undefined, client.None(), options)
  const verifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    // As Codex does: everything that the server advertises, and a scope for refresh tokens.
    scope: [...config.serverMetadata().scopes_supported, 'offline_access'].join(' '),
    prompt: 'consent',
    state: 'state',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const callback = await approve(fixture.workspace, url)
  const checks = { pkceCodeVerifier: verifier, expectedState: 'state' }
  const tokens = await client.authorizationCodeGrant(config, callback, checks)
  assert.equal(tokens.scope, 'mcp:use')
  const again = await client.refreshTokenGrant(config, tokens.refresh_token)
  assert.deepEqual(await checkTokenAccess(fixture, again.access_token), { mcp: 200, agent: 401 })
}

/** A temporary folder in which a client is installed; null if its registry does not serve it. */
function openFolder(
  test: TestContext,
  language: Language,
  fill: (folder: string) => void,
): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-mcp-clients-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return openToolchain(test, language, () => {
    fill(folder)
    return folder
  })
}

/** A version that a registry no longer serves is no fault of the service. */
function install(command: string[], folder: string): void {
  try {
    download(command, folder)
  } catch (error) {
    if (!/E404|ETARGET|No matching distribution|unknown revision/.test(String(error))) throw error
    throw new UnavailableError(`${command.at(-1)} is not served.`, { cause: error })
  }
}

async function runClient(mcp: McpFixture, command: string[]): Promise<Finding> {
  const output = await runProgram(mcp, command)
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')
}

async function runProgram(mcp: McpFixture, [program = '', ...parameters]: string[]) {
  const client = spawn(program, parameters, {
    env: {
      PATH: process.env.PATH,
      HOME: tmpdir(),
      PYTHONDONTWRITEBYTECODE: '1',
      SIGNALBOX_MCP_URL: `${mcp.service.url}/mcp`,
      SIGNALBOX_EXECUTION_TOKEN: mcp.tokens.execution,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const [output, errors] = [text(client.stdout), text(client.stderr)]
  const [code] = await once(client, 'exit')
  assert.equal(code, 0, `${await errors}\n${await output}`)
  return output
}

/** The client has every tool, by the name or with underscores, and read an empty list of actions. */
async function assertReads(mcp: McpFixture, { tools, answer }: Finding): Promise<void> {
  const { result } = await mcp.request('tools/list')
  const withUnderscores = (names: string[]) => names.map(name => name.replaceAll('-', '_')).sort()
  const listed = result.tools.map(({ name }: { name: string }) => name)
  assert.deepEqual(withUnderscores(tools), withUnderscores(listed))
  assert.match(answer, /actions/)
  assert.match(answer, /has_more/)
}
