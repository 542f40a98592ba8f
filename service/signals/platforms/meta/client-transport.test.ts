import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import type { SendAnswer } from '../platform.ts'
import { metaPlatform } from './client.ts'

const CONNECTION = {
  target: { datasetId: '1234' },
  accessToken: 'token-of-the-test',
  testCode: null,
}

function sendTo(baseUrl: string, timeoutMilliseconds = 30_000): Promise<SendAnswer> {
  const platform = metaPlatform({
    baseUrl,
    version: 'v26.0',
    timeoutMilliseconds,
    now: () => new Date(),
  })
  return platform.send(CONNECTION, [sampleOutboundEvent()])
}

async function listening(test: TestContext, server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  test.after(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('connection refused: retry, nothing was sent', async () => {
  const answer = await sendTo(`http://127.0.0.1:${await findFreePort()}`)
  assert.equal(answer.outcome, 'retry')
  assert.equal(answer.error?.message, 'The platform could not be reached (ECONNREFUSED).')
})

it('an unknown host name: retry, nothing was sent', async () => {
  // The label is too long for DNS, so no resolver is queried.
  const answer = await sendTo(`http://${'x'.repeat(64)}.invalid`)
  assert.equal(answer.outcome, 'retry')
  assert.match(answer.error?.message ?? '', /could not be reached \((ENOTFOUND|EAI_AGAIN)\)/)
})

it('a server without TLS: retry, nothing was sent', async test => {
  const requests: unknown[] = []
  const address = await listening(
    test,
    createServer(request => requests.push(request)),
  )
  const answer = await sendTo(`https://${address}`)
  assert.equal(answer.outcome, 'retry')
  const message = /^No secure connection to the platform was possible \(ERR_SSL_/
  assert.match(answer.error?.message ?? '', message)
  assert.equal(requests.length, 0)
})

it('an untrusted certificate: retry, and the token is not sent', async test => {
  const requests: unknown[] = []
  const server = createTlsServer(selfSigned(), request => requests.push(request))
  const answer = await sendTo(`https://${await listening(test, server)}`)
  assert.equal(answer.outcome, 'retry')
  const message = 'No secure connection to the platform was possible (DEPTH_ZERO_SELF_SIGNED_CERT).'
  assert.equal(answer.error?.message, message)
  assert.equal(requests.length, 0)
})

it('a response that stalls: unknown', async test => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"events_received":1')
  })
  const answer = await sendTo(`http://${await listening(test, server)}`, 200)
  assert.equal(answer.outcome, 'unknown')
  assert.equal(answer.error?.message, 'The platform did not answer in time.')
})

it('a response that is not HTTP: unknown', async test => {
  const server = createServer((_, response) => response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n'))
  const answer = await sendTo(`http://${await listening(test, server)}`)
  assert.equal(answer.outcome, 'unknown')
  assert.equal(answer.error?.message, 'The connection to the platform broke (HTTPParserError).')
})

/** A self-signed certificate for "localhost", X.509 version 1 (RFC 5280 4.1). */
function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
  const commonName = [der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('localhost'))]
  const name = der(0x30, der(0x31, der(0x30, ...commonName)))
  const validity = ['000101000000Z', '491231235959Z'].map(time => der(0x17, Buffer.from(time)))
  const content = der(
    0x30,
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    der(0x30, ...validity),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)])
  const certificate = der(0x30, content, ecdsaWithSha256, der(0x03, signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}

/** One ASN.1 value: tag, length, content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const head = length < 128 ? [length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}
