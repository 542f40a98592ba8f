import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { examine } from '../../../testing/fixtures/doctor.ts'
import { listen } from '../../../testing/fixtures/listen.ts'
import { startOpenidProvider } from '../../../testing/fixtures/openid-provider.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken } from '../../../testing/fixtures/simulator.ts'
import { enqueueJob } from '../../runtime/jobs/job-store.ts'

/** A service on the clock of the machine, and the settings of its processes. */
async function startService(test: TestContext) {
  const service = await startTestService(test, { startAt: new Date().toISOString() })
  const environment = {
    DATABASE_URL: service.connectionString,
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    SIGNALBOX_CREDENTIAL_KEY: service.delivery.credentialKeys.current.toString('hex'),
    SIGNALBOX_PLATFORM_URL: service.simulatorUrl,
  }
  return { service, environment }
}

/** A connection as a process of this role has one. */
async function connectAs(test: TestContext, service: TestService, role: string) {
  const client = new pg.Client({
    connectionString: service.connectionString,
    application_name: `signalbox ${role}`,
  })
  client.on('error', () => {})
  await client.connect()
  test.after(() => client.end())
}

it('finds that no worker delivers, and that a worker is behind', async test => {
  const { service, environment } = await startService(test)
  const idle = (await examine(environment)).of('delivery.worker')
  assert.deepEqual(
    [idle.severity, idle.message],
    ['warning', 'No delivery worker is connected to the store.'],
  )
  await service.submit(samplePurchase({ event_id: 'waiting' }))
  const now = () => new Date(service.clock.now().getTime() + 600_000)
  const none = (await examine(environment, { now })).of('delivery.worker')
  assert.equal(none.severity, 'error')
  assert.match(none.message, /due for \d+ minutes, and no delivery worker is connected/)
  await connectAs(test, service, 'deliver')
  const behind = (await examine(environment, { now })).of('delivery.worker')
  assert.match(behind.message, /due for \d+ minutes although a worker is connected/)
  await service.deliver()
  assert.equal((await examine(environment)).of('delivery.worker').severity, 'ok')
})

it('finds that there is no destination', async test => {
  const { service, environment } = await startService(test)
  await service.database.pool.query('delete from destinations')
  const { severity, fix } = (await examine(environment)).of('delivery.destinations')
  assert.equal(severity, 'warning')
  assert.match(String(fix), /signalbox-server provision/)
})

it('finds a credential that the platform rejects, before and after an event', async test => {
  const { service, environment } = await startService(test)
  assert.equal((await examine(environment)).of('platform.credentials').severity, 'ok')
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  const { code, of, text } = await examine(environment)
  const { destinationId } = service.tracker
  assert.equal(code, 2)
  assert.equal(of('platform.credentials').severity, 'error')
  assert.ok(of('platform.credentials').message.includes(destinationId))
  assert.ok(!text.includes(accessToken))
  await service.submit(samplePurchase({ event_id: 'refused' }))
  await service.deliver()
  const paused = (await examine(environment)).of('delivery.destinations')
  assert.equal(paused.severity, 'error')
  assert.ok(paused.message.includes(destinationId))
})

it('finds jobs that do not run, and jobs that failed', async test => {
  const { service, environment } = await startService(test)
  const { pool } = service.database
  await connectAs(test, service, 'all')
  assert.match((await examine(environment)).of('jobs.running').message, /has run jobs on this/)
  await pool.query(
    `insert into job_records (name, succeeded_at)
     values ('prepare-partitions', now() - interval '5 hours')`,
  )
  const stopped = (await examine(environment)).of('jobs.running')
  assert.deepEqual(
    [stopped.severity, stopped.message],
    ['error', 'Jobs have not run for 5 hours: no expiry, no reports.'],
  )
  await pool.query('update job_records set succeeded_at = now()')
  assert.equal((await examine(environment)).of('jobs.running').severity, 'ok')
  await enqueueJob(service.database, 'refresh-report')
  await pool.query(
    'select signalbox_jobs.permanently_fail_jobs(array(select id from signalbox_jobs.jobs))',
  )
  assert.match((await examine(environment)).of('jobs.running').message, /^1 jobs failed/)
})

it('finds a platform that is away, and a clock that differs from its own', async test => {
  const { environment } = await startService(test)
  const away = await examine({ ...environment, SIGNALBOX_PLATFORM_URL: 'http://127.0.0.1:65534' })
  assert.equal(away.of('platform.reachable').severity, 'error')
  assert.match(away.of('platform.reachable').message, /cannot be reached \(ECONNREFUSED\)/)
  const now = () => new Date(Date.now() + 3_600_000)
  const { severity, message } = (await examine(environment, { now })).of('platform.clock')
  assert.equal(severity, 'error')
  assert.match(message, /differs from the platform's by 3\d\d\d s/)
})

it('finds a public origin that leads elsewhere', async test => {
  const port = await listen(
    test,
    createHttpServer((_, response) => response.end('a shop')),
  )
  const { severity, message } = (
    await examine({
      SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
      SIGNALBOX_PUBLIC_ORIGIN: `http://127.0.0.1:${port}`,
    })
  ).of('network.public_origin')
  assert.equal(severity, 'warning')
  assert.match(message, /does not lead to a Signalbox from this machine \(HTTP 200\)/)
})

it('finds a receiver of traces that is away, and one that takes none', async test => {
  const trace = async (url: string) => {
    const environment = {
      SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=hidden',
    }
    const { of, text } = await examine(environment)
    assert.doesNotMatch(text, /hidden/)
    return of('network.traces')
  }
  const away = await trace('http://127.0.0.1:65534')
  assert.equal(away.severity, 'warning')
  assert.match(away.message, /cannot be reached \(ECONNREFUSED\)/)
  const server = createHttpServer((_, response) => response.writeHead(404).end())
  const other = await trace(`http://127.0.0.1:${await listen(test, server)}`)
  assert.match(other.message, /takes no traces at \/v1\/traces/)
})

it('finds a mail server that is away, and one that refuses the password', async test => {
  const mailbox = async (url: string) => {
    const { code, of, text } = await examine({
      SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
      SIGNALBOX_MAIL_URL: url,
      SIGNALBOX_MAIL_FROM: 'events@shop.example',
    })
    assert.equal(code, 2)
    assert.doesNotMatch(text, /hidden/)
    return of('network.mail_server').message
  }
  assert.match(await mailbox('smtp://jane:hidden@127.0.0.1:9'), /cannot be used \(ESOCKET|ECONN/)
  const port = await listen(test, createServer(refusePasswords))
  assert.match(
    await mailbox(`smtp://jane:hidden@127.0.0.1:${port}`),
    /refuses the user or the password/,
  )
})

it('finds an OpenID provider that is away, and one that is another', async test => {
  const person = { sub: 'u-1', email: 'ada@shop.example' }
  const now = () => new Date('2026-11-21T12:00:00Z')
  const provider = await startOpenidProvider(test, { now, person })
  const examined = async (issuer: string) => {
    const { of, text } = await examine({
      SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
      SIGNALBOX_OIDC_ISSUER: issuer,
      SIGNALBOX_OIDC_CLIENT_ID: 'signalbox',
      SIGNALBOX_OIDC_CLIENT_SECRET: 'hidden',
      SIGNALBOX_OIDC_DOMAINS: 'shop.example',
    })
    assert.doesNotMatch(text, /hidden/)
    const { severity, message } = of('network.openid_provider')
    return `${severity}: ${message}`
  }
  assert.match(await examined(provider.issuer), /^ok: .* names itself so/)
  provider.metadata = { claims_supported: ['sub', 'email'] }
  assert.match(await examined(provider.issuer), /^warning: .* list the claim email_verified/)
  provider.metadata = { issuer: 'https://other.example' }
  assert.match(
    await examined(provider.issuer),
    /^error: .*\(oauth_json_attribute_comparison_failed\)/,
  )
  assert.match(await examined('http://127.0.0.1:65534'), /^error: .*\(econnrefused\)/)
})

async function refusePasswords(socket: Socket): Promise<void> {
  socket.on('error', () => {})
  socket.setEncoding('utf8').write('220 mail.example ESMTP\r\n')
  for await (const line of socket) {
    if (/^EHLO/.test(line)) socket.write('250-mail.example\r\n250 AUTH PLAIN\r\n')
    else if (/^AUTH/.test(line)) socket.write('535 5.7.8 wrong password\r\n')
    else {
      socket.end('221 bye\r\n')
      await once(socket, 'close')
    }
  }
}
