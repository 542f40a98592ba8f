// Full run only: runs measurements.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { findListeningProcess } from './process-cost.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const TINY = ['--rounds', '1', '--seconds', '0.4', '--warm-up', '0.2', '--connections', '2']

interface Received {
  path: string
  method: string
  credential: string
  body: string
}

/** A server that answers every other request in chunks, as other programs do. */
async function startPeer(test: TestContext, status = 200) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const { url: path = '', method = '', headers } = request
    const body = (await request.toArray()).join('')
    received.push({ path, method, credential: headers.authorization ?? '', body })
    if (received.length % 2 === 0) response.write('O')
    response.statusCode = status
    response.end(received.length % 2 === 0 ? 'K' : 'OK')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1/track?a=b`, port, received }
}

function bench(...args: string[]) {
  return new Promise<{ status: number; stdout: string; stderr: string }>(resolve => {
    execFile(process.execPath, [MAIN, 'peer', ...args], (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

it('compares with an endpoint: its path, headers, body and an ID in each request', async test => {
  const folder = mkdtempSync(join(tmpdir(), 'peer-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const body = join(folder, 'body.json')
  writeFileSync(body, '{"messageId":"{{id}}","name":"Größe"}')
  const { url, port, received } = await startPeer(test)
  assert.equal(findListeningProcess(port), process.pid)
  const header = 'Authorization: Basic abc'
  const { status, stdout, stderr } = await bench(
    '--url',
    url,
    '--header',
    header,
    '--body',
    body,
    ...TINY,
  )
  assert.equal(stderr, '')
  assert.equal(status, 0)
  const figures = '[1-9][\\d,]* +\\d[\\d.]* +\\d[\\d.]* +\\d\\.\\d+'
  assert.match(stdout, new RegExp(`^Signalbox +${figures} +\\d\\.\\d+ +\\d+$`, 'm'))
  assert.match(stdout, new RegExp(`^the endpoint +${figures} +not known +\\d+$`, 'm'))
  assert.match(stdout, /^ratio of the speeds: \d+\.\d\d$/m)
  assert.ok(received.length > 2)
  for (const { path, method, credential } of received) {
    assert.deepEqual([method, path, credential], ['POST', '/v1/track?a=b', 'Basic abc'])
  }
  const ids = received.map(one => JSON.parse(one.body).messageId)
  assert.match(ids[0], /^[0-9a-f]{8}-[0-9a-f]{12}$/)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(JSON.parse(received[0]?.body ?? '').name, 'Größe')
})

it('sends our purchases without a body, and fails when the endpoint refuses them', async test => {
  const { url, received } = await startPeer(test, 404)
  const { status, stderr } = await bench('--url', url, ...TINY)
  assert.equal(status, 1)
  assert.match(stderr, /^\d+ requests to the endpoint were answered with 404\.$/m)
  assert.equal(JSON.parse(received[0]?.body ?? '').event_name, 'Purchase')
  assert.equal(received[0]?.credential, '')
})

it('asks for an address', async () => {
  for (const args of [[], ['--url', 'shop.example'], ['--url', 'https://127.0.0.1/']]) {
    assert.match((await bench(...args)).stderr, /^--url must be an address that begins with http/m)
  }
  const { stderr } = await bench('--url', 'http://127.0.0.1:1/', '--header', 'nonsense')
  assert.match(stderr, /^--header must be a line such as/m)
})
