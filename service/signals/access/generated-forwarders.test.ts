import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type StartForwarder,
  startExpress,
  startNext,
  startWorker,
} from '../../../clients/browser/testing/forwarder-under-test.ts'
import { SHOP_ORIGIN, samplePageView } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const FORWARDERS: Record<string, StartForwarder> = {
  'a Cloudflare Worker': startWorker,
  'a Next.js route': startNext,
  Express: startExpress,
}
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) Example/1.0'

for (const [name, startForwarder] of Object.entries(FORWARDERS)) {
  it(`accepts requests and beacons of the generated forwarder for ${name}`, async test => {
    // The forwarders sign by the clock of the machine.
    const service = await startTestService(test, { startAt: new Date().toISOString() })
    const { publishableKey, forwardingSecret } = service.tracker
    const forwarder = await startForwarder(test, {
      baseUrl: `${service.url}/api/v1`,
      secret: forwardingSecret,
      clientIp: '8.8.8.8',
    })
    const headers = {
      origin: SHOP_ORIGIN,
      'user-agent': USER_AGENT,
      authorization: `Bearer ${publishableKey}`,
      'content-type': 'application/json',
    }
    const { authorization, ...unnamed } = headers
    const post = (path: string, sent: Record<string, string>, event_id: string) => {
      const body = JSON.stringify(samplePageView({ event_id, user_data: { fn: 'Zoë' } }))
      return forwarder.send(path, { method: 'POST', headers: sent, body })
    }
    assert.equal((await post('/sb/events', headers, 'fetched')).status, 202)
    const beacon = { ...unnamed, 'content-type': 'text/plain;charset=UTF-8' }
    assert.equal((await post(`/sb/events?key=${publishableKey}`, beacon, 'beacon')).status, 202)
    const foreign = { ...headers, origin: 'https://evil.example' }
    assert.equal((await post('/sb/events', foreign, 'foreign')).status, 403)

    const optedOut = await post('/sb/events', { ...headers, 'sec-gpc': '1' }, 'opted-out')
    assert.equal(optedOut.status, 422)
    const { errors } = (await optedOut.json()) as { errors: object }
    assert.deepEqual(Object.keys(errors), ['Sec-GPC'])

    await service.deliver()
    const { events } = await service.received()
    const people = events.map(
      event => (event as unknown as { user_data: Record<string, string> }).user_data,
    )
    assert.deepEqual(
      people.map(person => [person.client_ip_address, person.client_user_agent]),
      [
        ['8.8.8.8', USER_AGENT],
        ['8.8.8.8', USER_AGENT],
      ],
    )
  })
}
