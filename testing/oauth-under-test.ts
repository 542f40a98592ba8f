import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import * as oauth from 'oauth4webapi'
import { insertClient } from '../service/oauth/client-store.ts'
import type { BrowserClient, BrowserPage } from './browser-client.ts'
import { type WorkspaceUnderTest, workspaceUnderTest } from './people-under-test.ts'
import {
  type Reply,
  type ServiceUnderTest,
  serviceUnderTest,
  type UnderTestOptions,
} from './service-under-test.ts'
import type { TestClock } from './test-clock.ts'

export const CALLBACK = 'http://127.0.0.1:8765/callback'

/** A service with an owner of an ad account, and the clock of the libraries standing still too. */
export interface OauthUnderTest {
  service: ServiceUnderTest
  /** With the owner who approves, and one ad account. */
  workspace: WorkspaceUnderTest
  /** Moves the clock of the service and of what it is made of. */
  forward(seconds: number): void
  /** As any program would; the answer's body is read. */
  send(path: string, options?: SendOptions): Promise<Reply>
  register(redirectUris?: string[], name?: string): Promise<string>
}

export interface SendOptions {
  method?: string
  headers?: Record<string, string>
  form?: Record<string, string>
  json?: unknown
}

export async function oauthUnderTest(
  test: TestContext,
  options: UnderTestOptions = {},
): Promise<OauthUnderTest> {
  const service = await serviceUnderTest(test, options)
  const forward = stoppedDate(test, service.clock)
  const workspace = await workspaceUnderTest(service)
  const send = sender(service)
  return {
    service,
    workspace,
    forward,
    send,
    async register(redirectUris = [CALLBACK], name = 'Test agent') {
      const json = { client_name: name, redirect_uris: redirectUris }
      const reply = await send('/oauth/register', { json })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.client_id
    },
  }
}

/**
 * Libraries that take the time from the process are given the time of the test, so that their
 * tokens live by the same clock as the rest.
 */
function stoppedDate(test: TestContext, clock: TestClock): (seconds: number) => void {
  test.mock.timers.enable({ apis: ['Date'], now: clock.now() })
  return seconds => {
    clock.forward(seconds)
    test.mock.timers.setTime(clock.now().getTime())
  }
}

function sender({ request }: ServiceUnderTest) {
  return (path: string, { method, headers = {}, form, json }: SendOptions = {}): Promise<Reply> => {
    const hasBody = form !== undefined || json !== undefined
    return request(method ?? (hasBody ? 'POST' : 'GET'), path, {
      secret: null,
      ...(json === undefined ? {} : { body: json }),
      ...(form === undefined ? {} : { rawBody: new URLSearchParams(form).toString() }),
      headers: {
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
    })
  }
}

/** Against plain http, which stands for the loopback of a developer. */
const INSECURE = { [oauth.allowInsecureRequests]: true }

/** An agent, driven by an OAuth library that knows the server by its metadata alone. */
export interface AgentUnderTest {
  server: oauth.AuthorizationServer
  client: oauth.Client
  verifier: string
  state: string
  /** The address that a person is sent to. */
  authorizationUrl(changes?: Record<string, string | null>): Promise<URL>
  /** Exchanges what came back to the callback. */
  exchange(callback: URL): Promise<oauth.TokenEndpointResponse>
  refresh(refreshToken: string): Promise<oauth.TokenEndpointResponse>
}

export async function agentUnderTest(
  under: OauthUnderTest,
  { clientId, redirectUri = CALLBACK }: { clientId?: string; redirectUri?: string } = {},
): Promise<AgentUnderTest> {
  const issuer = new URL(under.service.url)
  const discovery = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...INSECURE })
  const server = await oauth.processDiscoveryResponse(issuer, discovery)
  const client: oauth.Client = {
    client_id: clientId ?? (await under.register([redirectUri])),
    token_endpoint_auth_method: 'none',
  }
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  return {
    server,
    client,
    verifier,
    state,
    async authorizationUrl(changes = {}) {
      const url = new URL(server.authorization_endpoint ?? '')
      const parameters: Record<string, string | null> = {
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: redirectUri,
        scope: 'mcp:use',
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...changes,
      }
      for (const [name, value] of Object.entries(parameters)) {
        if (value !== null) url.searchParams.set(name, value)
      }
      return url
    },
    async exchange(callback) {
      const parameters = oauth.validateAuthResponse(server, client, callback, state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.None(),
        parameters,
        redirectUri,
        verifier,
        INSECURE,
      )
      return oauth.processAuthorizationCodeResponse(server, client, response)
    },
    async refresh(refreshToken) {
      const none = oauth.None()
      const response = await oauth.refreshTokenGrantRequest(
        server,
        client,
        none,
        refreshToken,
        INSECURE,
      )
      return oauth.processRefreshTokenResponse(server, client, response)
    },
  }
}

/** The browser of a person, at the approval page of a request. */
export function openApproval(browser: BrowserClient, url: URL): Promise<BrowserPage> {
  return browser.get(`${url.pathname}${url.search}`)
}

/** The owner approves for the ad account; the address that the browser is sent to. */
export async function approve({ owner, adAccountId }: WorkspaceUnderTest, url: URL): Promise<URL> {
  const page = await openApproval(owner.client, url)
  assert.equal(page.status, 200, page.text)
  return decide(owner.client, { ad_account_id: String(adAccountId), decision: 'approve' })
}

/** Sends the form of the approval page that is open; the address that the browser is sent to. */
export async function decide(browser: BrowserClient, fields: Record<string, string>) {
  const after = await browser.submit({ fields })
  return new URL(after.redirects.at(-1) ?? after.url, browser.origin)
}

export interface Connected {
  agent: AgentUnderTest
  accessToken: string
  refreshToken: string
}

/** A whole connection: tokens of a new client that the owner has approved. */
export async function connected(
  under: OauthUnderTest,
  changes: Record<string, string | null> = {},
): Promise<Connected> {
  const agent = await agentUnderTest(under)
  const callback = await approve(under.workspace, await agent.authorizationUrl(changes))
  const tokens = await agent.exchange(callback)
  return {
    agent,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? '',
  }
}

/** What a connection asks for that may call GET /agent/context. */
export function agentResource({ service }: OauthUnderTest): Record<string, string> {
  return { resource: `${service.url}/api/v1/agent`, scope: 'ad-account.read' }
}

/** A client that whoever runs the installation made for devices. */
export async function deviceClient({ service }: OauthUnderTest): Promise<string> {
  const clientId = `device-${randomBytes(8).toString('hex')}`
  const client = { clientId, kind: 'device', name: 'Terminal', redirectUris: [] } as const
  await insertClient(service.database, { ...client, redirectUris: [] }, service.clock.now())
  return clientId
}

/** Asks the token endpoint by hand: for requests that no library would send. */
export function tokenRequest(
  under: OauthUnderTest,
  agent: AgentUnderTest,
  changes: Record<string, string | null>,
): Promise<Reply> {
  const parameters: Record<string, string | null> = {
    grant_type: 'authorization_code',
    client_id: agent.client.client_id,
    redirect_uri: CALLBACK,
    code_verifier: agent.verifier,
    ...changes,
  }
  const given = Object.entries(parameters).filter(([, value]) => value !== null)
  return under.send('/oauth2/token', { form: Object.fromEntries(given) as Record<string, string> })
}

/** What a token opens at the two resources, by its statuses. */
export async function opens({ send }: OauthUnderTest, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  const accept = 'application/json, text/event-stream'
  const ping = { headers: { ...headers, accept }, json: { jsonrpc: '2.0', id: 1, method: 'ping' } }
  const mcp = await send('/mcp', ping)
  const agent = await send('/api/v1/agent/context', { headers })
  return { mcp: mcp.status, agent: agent.status }
}
