import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startExpress, startNext, startWorker } from './testing/forwarder-under-test.ts'
import { forwardingSignature, recordingEndpoint } from './testing/recording-endpoint.ts'
import vectors from './vectors/forwarding-signature.json' with { type: 'json' }

for (const vector of vectors) {
  const { forwarding_secret, forwarded_at, client_ip, client_user_agent, body } = vector

  it(`vector "${vector.name}" matches node:crypto`, () => {
    const gpc = 'sec_gpc' in vector ? 'Sec-GPC: 1\n' : ''
    const text = `${forwarded_at}\n${client_ip}\n${client_user_agent}\n${gpc}`
    const signature = forwardingSignature(forwarding_secret, text, Buffer.from(body))
    assert.equal(signature, vector.signature)
  })
}

const KINDS = { 'cloudflare-worker': startWorker, 'next-route': startNext, express: startExpress }
for (const [kind, start] of Object.entries(KINDS)) {
  for (const vector of vectors) {
    // Node's HTTP client names itself where there is no user agent, and Express has an address.
    if (kind === 'express' && vector.client_user_agent === '') continue
    it(`${kind}: signs the vector "${vector.name}" as recorded`, async test => {
      const { forwarded_at, client_ip, client_user_agent, body } = vector
      const service = await recordingEndpoint(test)
      const secret = vector.forwarding_secret
      const forwarder = await start(test, { baseUrl: service.url, secret, clientIp: client_ip })
      test.mock.timers.enable({ apis: ['Date'], now: forwarded_at * 1_000 + 999 })
      const agent = client_user_agent === '' ? {} : { 'user-agent': client_user_agent }
      const headers = 'sec_gpc' in vector ? { ...agent, 'sec-gpc': '1' } : agent
      await forwarder.send('/sb/events', { method: 'POST', headers, body })
      const [request] = await service.received(1)
      assert.equal(request?.headers['x-signalbox-forwarding-signature'], vector.signature)
      assert.equal(request?.headers['x-signalbox-forwarded-at'], String(forwarded_at))
      assert.equal(request?.headers['x-signalbox-client-ip'] ?? '', client_ip)
    })
  }
}
