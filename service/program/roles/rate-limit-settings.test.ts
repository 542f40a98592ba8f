import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createInstallation, type TestProgram } from '../../../testing/fixtures/program.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { provisionTracker } from '../provisioning/provision-tracker.ts'

const KEY = '07'.repeat(32)

it('the rate limit settings take effect, and the metrics count refused requests', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const credentialKeys = { current: Buffer.from(KEY, 'hex'), previous: [] }
  const request = {
    workspaceName: 'Test',
    at: new Date(),
    credentialKeys,
    logger: createLogger('silent'),
  }
  const { trackerSecret } = await provisionTracker(database, request)
  const program = createInstallation(test).start({
    role: 'serve',
    environment: {
      DATABASE_URL: connectionString,
      SIGNALBOX_CREDENTIAL_KEY: KEY,
      SIGNALBOX_TRACKER_RATE_PER_SECOND: '7',
      SIGNALBOX_SANDBOX_RATE_PER_MINUTE: '1',
      SIGNALBOX_FAILED_AUTH_RATE_PER_MINUTE: '1',
    },
  })
  const [service = '', metrics = ''] = await addressesOf(program)
  const ask = async (path: string, secret = '') => {
    const headers = { authorization: `Bearer ${secret}` }
    const response = await fetch(`${service}/api/v1${path}`, { headers })
    return [response.status, response.headers.get('ratelimit-policy')]
  }
  assert.deepEqual(await ask('/events/x', trackerSecret), [404, '"tracker";q=14;w=2'])
  for (const status of [200, 429]) {
    assert.deepEqual(await ask('/sandbox'), [status, '"sandbox";q=1;w=60'])
  }
  assert.deepEqual(await ask('/events/x'), [401, null])
  assert.deepEqual(await ask('/events/x'), [429, '"failed_authentications";q=1;w=60'])
  const text = await (await fetch(metrics)).text()
  for (const line of [
    'signalbox_rate_limited_total{limit="tracker"} 0',
    'signalbox_rate_limited_total{limit="sandbox"} 1',
    'signalbox_rate_limited_total{limit="failed_authentications"} 1',
    'signalbox_http_shed_total 0',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line)
  }
})

async function addressesOf(program: TestProgram): Promise<(string | undefined)[]> {
  const [, metrics] = await program.waitForOutput(/^Its metrics are at (\S+)$/m)
  const [, service] = await program.waitForOutput(/^Signalbox serves at (\S+)$/m)
  return [service, metrics]
}
