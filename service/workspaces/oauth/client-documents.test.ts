import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import {
  approve,
  CALLBACK,
  checkTokenAccess,
  createOauthAgent,
  type OauthFixture,
  openApproval,
  requestToken,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import {
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../../testing/fixtures/webhook-receiver.ts'
import { createDocumentClientFinder } from './client.ts'
import { findDocumentUrlError } from './client-metadata.ts'
import { findClient } from './client-store.ts'

interface DocumentFixture extends OauthFixture {
  site: WebhookReceiver
  clientId: string
}

/** A site that describes one client, and a service that may request it. */
async function startFixture(test: TestContext, changes: object = {}): Promise<DocumentFixture> {
  const site = await startWebhookReceiver(test)
  const clientId = `https://${new URL(site.url).host}/client.json`
  const fixture = await startOauthFixture(test, {
    isShared: false,
    documentRequests: site.clientOptions,
  })
  serveDocument(site, describe(clientId, changes))
  return { ...fixture, site, clientId }
}

function describe(clientId: string, changes: object = {}): Record<string, unknown> {
  return {
    client_id: clientId,
    client_name: 'Document agent',
    redirect_uris: [CALLBACK, 'http://elsewhere.example/callback'],
    ...changes,
  }
}

function serveDocument(site: WebhookReceiver, document: unknown): void {
  site.answer(response => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
}

it('connects a client whose ID is the URL of its metadata document', async test => {
  const fixture = await startFixture(test)
  const { clientId, site, workspace, service } = fixture
  const { body: metadata } = await fixture.send('/.well-known/oauth-authorization-server')
  assert.equal(metadata.client_id_metadata_document_supported, true)
  const agent = await createOauthAgent(fixture, { clientId })
  const url = await agent.authorizationUrl()
  const page = await openApproval(workspace.owner.client, url)
  assert.match(page.text, /Document agent/)
  assert.match(page.text, new RegExp(`Described at</dt><dd><strong>${new URL(clientId).host}<`))
  const tokens = await agent.exchange(await approve(workspace, url))
  assert.deepEqual(await checkTokenAccess(fixture, tokens.access_token), { mcp: 200, agent: 401 })
  const [request] = site.requests
  assert.deepEqual([request?.path, request?.headers.accept], ['/client.json', 'application/json'])
  assert.equal(request?.headers.authorization, undefined)
  // Cached, and not needed any more while its site is down.
  assert.equal(site.requests.length, 1)
  site.answer(response => void response.writeHead(500).end())
  const again = await agent.refresh(tokens.refresh_token ?? '')
  assert.equal((await checkTokenAccess(fixture, again.access_token)).mcp, 200)
  const { rows } = await service.database.pool.query(
    `select body from audit_entries where action = 'connection.approved'`,
  )
  assert.match(rows[0].body, /"client_url_sha256":"[0-9a-f]{64}"/)
  assert.equal(JSON.stringify(rows).includes('hooks.example'), false)
})

it('accepts only the redirect URIs of the document that could be registered', async test => {
  const fixture = await startFixture(test)
  const { clientId, workspace, service } = fixture
  const agent = await createOauthAgent(fixture, { clientId })
  for (const redirect of ['http://elsewhere.example/callback', 'https://other.example/callback']) {
    const url = await agent.authorizationUrl({ redirect_uri: redirect })
    const page = await workspace.owner.client.get(url.pathname + url.search)
    assert.equal(page.status, 400)
    assert.deepEqual(page.redirects, [])
  }
  const client = await findClient(service.database, clientId)
  assert.deepEqual(client?.redirectUris, [CALLBACK])
})

for (const [title, changes] of Object.entries({
  'names another client': { client_id: 'https://hooks.example/other.json' },
  'has a secret': { client_secret: 'secret' },
  'authenticates itself': { token_endpoint_auth_method: 'private_key_jwt' },
  'has a misleading name': { client_name: 'Official agent' },
  'has no name': { client_name: undefined },
  'has no redirect URI': { redirect_uris: [] },
  'has only forbidden redirect URIs': { redirect_uris: ['http://elsewhere.example/'] },
  'has too many redirect URIs': { redirect_uris: Array(51).fill(CALLBACK) },
  'is longer than 16 KiB': { logo_uri: 'x'.repeat(16_384) },
})) {
  it(`refuses a document that ${title}`, async test => {
    const fixture = await startFixture(test, changes)
    await assertRefused(fixture)
  })
}

it('refuses answers that are no JSON document', async test => {
  const fixture = await startFixture(test)
  const { site, clientId } = fixture
  const json = { 'content-type': 'application/json' }
  const text = JSON.stringify(describe(clientId))
  const find = () => createDocumentClientFinder([], site.clientOptions)(clientId, '192.0.2.1')
  assert.equal((await find())?.clientId, clientId)
  for (const [status, headers, body] of [
    [404, json, text],
    [302, { ...json, location: `${clientId}?again` }, text],
    [200, { 'content-type': 'text/html' }, text],
    [200, json, '['],
    [200, json, '[]'],
    [200, json, 'null'],
  ] as const) {
    site.answer(response => void response.writeHead(status, headers).end(body))
    assert.equal(await find(), null, `${status} ${body.slice(0, 9)}`)
  }
})

it('requests public addresses only, and remembers a failure', async test => {
  const { site, clientId } = await startFixture(test)
  const { certificateAuthority = '', resolveHost } = site.clientOptions
  const find = createDocumentClientFinder([], {
    certificateAuthority,
    ...(resolveHost && { resolveHost }),
  })
  const before = site.connections()
  assert.equal(await find(clientId, '192.0.2.1'), null)
  assert.equal(await find(clientId, '192.0.2.1'), null)
  assert.equal(site.connections(), before)
})

it('opens at most ten requests at a time, two of them for one address', async test => {
  const { site, clientId } = await startFixture(test)
  // Ten of one address, then two each of others.
  const callers = [...Array.from({ length: 10 }, () => 0), 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
  let release = () => {}
  const waiting = new Promise<void>(resolve => {
    release = resolve
  })
  const resolveHost = async () => {
    await waiting
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const find = createDocumentClientFinder([], { ...site.clientOptions, resolveHost })
  const found = callers.map((caller, at) => find(`${clientId}/${at}`, `192.0.2.${caller}`))
  // Everyone may wait for a document that another address requests.
  found.push(find(`${clientId}/0`, '192.0.2.9'))
  release()
  assert.deepEqual([...new Set(await Promise.all(found))], [null])
  assert.deepEqual(
    site.requests.map(({ path }) => Number(path.split('/').at(-1))).toSorted((a, b) => a - b),
    [0, 1, 10, 11, 12, 13, 14, 15, 16, 17],
  )
  await find(`${clientId}/20`, '192.0.2.0')
  assert.equal(site.requests.length, 11, 'their places are free again')
})

it('accepts only public https URLs with a path as client IDs', () => {
  for (const url of ['https://agent.example/client.json', 'https://agent.example:8443/a/b']) {
    assert.equal(findDocumentUrlError(url), null)
  }
  for (const url of [
    'http://agent.example/client.json',
    'https://agent.example',
    'https://agent.example/',
    'https://agent.example/client.json?version=2',
    'https://agent.example/client.json#client',
    'https://agent.example/a/../client.json',
    'https://agent.example/%2e%2e/client.json',
    'https://AGENT.example/client.json',
    'https://agent.example:443/client.json',
    'https://user@agent.example/client.json',
    'https://@agent.example/client.json',
    'https://localhost/client.json',
    'https://agent.internal/client.json',
    'https://127.0.0.1/client.json',
    'https://[::1]/client.json',
    'https://169.254.169.254/latest/meta-data',
    'https://2130706433/client.json',
    'https://agent.example/client json',
    'https:\\\\agent.example\\client.json',
    `https://agent.example/${'a'.repeat(500)}`,
  ]) {
    assert.notEqual(findDocumentUrlError(url), null, url)
  }
})

it('leads the requests of the program nowhere else', () => {
  const root = join(import.meta.dirname, '../..')
  const given = globSync('**/*.ts', { cwd: root })
    .filter(path => !path.endsWith('.test.ts'))
    .flatMap(path => readFileSync(join(root, path), 'utf8').match(/\bdocumentRequests: .*/g) ?? [])
  assert.deepEqual(given, [])
})

/** The agent cannot start, and nothing is stored. */
async function assertRefused(fixture: DocumentFixture): Promise<void> {
  const { clientId, workspace, service } = fixture
  const agent = await createOauthAgent(fixture, { clientId })
  const url = await agent.authorizationUrl()
  const page = await workspace.owner.client.get(url.pathname + url.search)
  assert.equal(page.status, 400)
  assert.deepEqual(page.redirects, [])
  assert.equal(await findClient(service.database, clientId), null)
  const reply = await requestToken(fixture, agent, { code: 'x' })
  assert.equal(reply.body.error, 'invalid_client')
}
