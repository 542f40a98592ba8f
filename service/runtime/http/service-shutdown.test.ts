import { once } from 'node:events'
import { connect } from 'node:net'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

// Browsers and load balancers open connections before they have a request for them.
it('a shutdown does not wait for a connection that never sent a request', async test => {
  const service = await startTestService(test, { isShared: false })
  const { hostname, port } = new URL(service.url)
  const unused = connect(Number(port), hostname)
  await once(unused, 'connect')
  test.after(() => unused.destroy())
  const used = connect(Number(port), hostname)
  used.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(used, 'data')
  let isClosed = false
  const closing = service.server.close().then(() => {
    isClosed = true
  })
  const { headersTimeout } = service.server.app.server
  await waitUntil('the service has ended', () => isClosed, headersTimeout / 1_000 / 4)
  await closing
})
