import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startWebhookReceiver } from '../../../testing/fixtures/webhook-receiver.ts'
import { createWebhookClient, type WebhookClientOptions } from './client.ts'

async function startReceiver(test: TestContext) {
  const receiver = await startWebhookReceiver(test)
  const order = { url: receiver.url, headers: { 'webhook-id': 'msg_1' }, body: '{"text":"é"}' }
  const post = (options: WebhookClientOptions = {}, changes: Partial<typeof order> = {}) =>
    createWebhookClient({ ...receiver.clientOptions, ...options })({ ...order, ...changes })
  return { receiver, post, port: new URL(receiver.url).port }
}

it('posts the body with its headers to the resolved address', async test => {
  const { receiver, post } = await startReceiver(test)
  assert.deepEqual(await post(), { status: 204, waitSeconds: 0 })
  const [request] = receiver.requests
  assert.equal(request?.path, '/hook?key=path-secret')
  assert.equal(request?.body, '{"text":"é"}')
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.equal(request?.headers['content-length'], '13')
  assert.equal(request?.headers['webhook-id'], 'msg_1')
  assert.match(request?.headers.host ?? '', /^hooks\.example:\d+$/)
})

it('opens no connection to an address that is not public', async test => {
  const { receiver, post, port } = await startReceiver(test)
  const { certificateAuthority } = receiver.clientOptions
  const asInProduction = createWebhookClient({ certificateAuthority: certificateAuthority ?? '' })
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', '[::ffff:7f00:1]'])
    assert.deepEqual(
      await asInProduction({ url: `https://${host}:${port}/`, headers: {}, body: '' }),
      { status: null, error: 'address_not_public' },
      host,
    )
  const answers = [
    [{ address: '10.0.0.1', family: 4 }],
    // One public address beside a private one.
    [
      { address: '127.0.0.1', family: 4 },
      { address: '169.254.169.254', family: 4 },
    ],
    [],
  ]
  for (const addresses of answers) {
    const answer = await post({ resolveHost: async () => addresses })
    assert.deepEqual(answer, { status: null, error: 'address_not_public' })
  }
  assert.equal(receiver.connections(), 0)
})

it('resolves a name once, so that a second answer of DNS changes nothing', async test => {
  const { receiver, post } = await startReceiver(test)
  const answers = ['127.0.0.1', '127.0.0.2']
  const resolveHost = async () => [{ address: answers.shift() ?? '127.0.0.3', family: 4 }]
  assert.deepEqual(await post({ resolveHost }), { status: 204, waitSeconds: 0 })
  assert.deepEqual(answers, ['127.0.0.2'])
  // Nothing is kept for the next request: neither the address nor a connection.
  const refused = await post({ resolveHost })
  assert.deepEqual(refused, { status: null, error: 'address_not_public' })
  assert.equal(receiver.connections(), 1)
})

it('does not follow redirects', async test => {
  const { receiver, post } = await startReceiver(test)
  receiver.answer(response => response.writeHead(307, { location: '/elsewhere' }).end())
  assert.deepEqual(await post(), { status: 307, waitSeconds: 0 })
  assert.deepEqual(
    receiver.requests.map(({ path }) => path),
    ['/hook?key=path-secret'],
  )
})

it('refuses a URL that is not https', async test => {
  const { receiver, post, port } = await startReceiver(test)
  await assert.rejects(post({}, { url: `http://hooks.example:${port}/` }), /not https/)
  assert.equal(receiver.connections(), 0)
})

it('refuses a certificate of another name or of an unknown authority', async test => {
  const { receiver, post, port } = await startReceiver(test)
  const invalid = { status: null, error: 'invalid_certificate' }
  assert.deepEqual(await post({}, { url: `https://other.example:${port}/` }), invalid)
  const { certificateAuthority: _, ...withoutAuthority } = receiver.clientOptions
  const client = createWebhookClient(withoutAuthority)
  assert.deepEqual(await client({ url: receiver.url, headers: {}, body: '' }), invalid)
  assert.equal(receiver.requests.length, 0)
})

it('gives up after the time limit, also while a name is resolved', async test => {
  const { receiver, post } = await startReceiver(test)
  const timeout = { status: null, error: 'timeout' }
  receiver.answer(() => {})
  assert.deepEqual(await post({ timeoutMilliseconds: 300 }), timeout)
  const resolveHost = () => new Promise<never>(() => {})
  assert.deepEqual(await post({ timeoutMilliseconds: 50, resolveHost }), timeout)
})

it('does not read the body of an answer, nor headers without end', async test => {
  const { receiver, post } = await startReceiver(test)
  receiver.answer(response => {
    response.writeHead(200)
    const write = (): void => {
      while (response.writable && response.write(Buffer.alloc(65_536)));
    }
    response.on('drain', write).on('error', () => {})
    write()
  })
  assert.deepEqual(await post(), { status: 200, waitSeconds: 0 })
  receiver.answer(response => void response.writeHead(200, { long: 'x'.repeat(20_000) }).end())
  assert.deepEqual(await post(), { status: null, error: 'no_connection' })
})

it('reports how long the receiver asks to wait, at most a day', async test => {
  const { receiver, post } = await startReceiver(test)
  for (const [given, waitSeconds] of [
    ['120', 120],
    ['999999999', 86_400],
    ['Fri, 27 Nov 2026 12:00:00 GMT', 0],
    ['-1', 0],
  ] as const) {
    receiver.answer(response => void response.writeHead(429, { 'retry-after': given }).end())
    assert.deepEqual(await post(), { status: 429, waitSeconds })
  }
})

it('reports failures as codes', async test => {
  const { receiver, post } = await startReceiver(test)
  const unknown = async () => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND hooks.example'), { code: 'ENOTFOUND' })
  }
  assert.deepEqual(await post({ resolveHost: unknown }), { status: null, error: 'host_not_found' })
  receiver.answer(response => void response.socket?.destroy())
  assert.deepEqual(await post(), { status: null, error: 'no_connection' })
})
