import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { createServer as createSocketServer } from 'node:net'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { dumpAsText } from '../../../testing/fixtures/database-dump.ts'
import { listen } from '../../../testing/fixtures/listen.ts'
import { startOtlpReceiver } from '../../../testing/fixtures/otlp-receiver.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const PERSON = 'jane.roe@people.example'

/** Of letters and digits, which no URL writes in another way. */
function createSecret(name: string): string {
  return `${name}${randomBytes(16).toString('hex')}`
}

function findSecrets(text: string, secrets: readonly string[]): string[] {
  return secrets.filter(secret => {
    const base64 = Buffer.from(secret).toString('base64').slice(0, 12)
    return [secret.slice(0, 16), base64].some(mark => text.includes(mark))
  })
}

it('keeps secret settings out of answers and logs when mail, sign-in and tracing fail', async test => {
  const [database, mail, client, header] = ['db', 'mail', 'oidc', 'otlp'].map(createSecret) as [
    string,
    string,
    string,
    string,
  ]
  const credentialKey = randomBytes(32).toString('hex')
  const secrets = [database, mail, client, header, credentialKey]
  const heard: string[] = []
  // It repeats what it hears, and refuses it.
  const mailServer = createSocketServer(socket => {
    socket.on('error', () => {})
    socket.write('220 test ESMTP\r\n')
    socket.on('data', bytes => {
      heard.push(String(bytes))
      const line = String(bytes).trim()
      if (/^EHLO/.test(line)) socket.write('250-test\r\n250 AUTH PLAIN LOGIN\r\n')
      else socket.write(`535 5.7.8 refused: ${line} ${mail}\r\n`)
    })
  })
  const mailPort = await listen(test, mailServer)
  const provider = createServer((_, response) => void response.writeHead(500).end(client))
  const issuer = `http://127.0.0.1:${await listen(test, provider)}`
  const receiver = await startOtlpReceiver(test)
  const store = await createTestDatabase(test)
  const url = new URL(store.connectionString)
  if (url.password === '') url.password = database
  const environment = {
    DATABASE_URL: url.href,
    LOG_LEVEL: 'trace',
    SIGNALBOX_MAIL_URL: `smtp://signalbox:${mail}@127.0.0.1:${mailPort}`,
    SIGNALBOX_MAIL_FROM: 'signalbox@shop.example',
    SIGNALBOX_OIDC_ISSUER: issuer,
    SIGNALBOX_OIDC_CLIENT_ID: 'signalbox',
    SIGNALBOX_OIDC_CLIENT_SECRET: client,
    SIGNALBOX_OIDC_DOMAINS: 'people.example',
    SIGNALBOX_CREDENTIAL_KEY: credentialKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `api-key=${header}`,
    SIGNALBOX_DEMO: 'on',
  }
  const place = createInstallation(test)
  const program = await place.startReady({ environment })
  const shown: string[] = []
  const page = new PageClient(program.url)
  shown.push(JSON.stringify(await page.get('/forgot')))
  const { owner_email: email } = place.credentials()
  shown.push(JSON.stringify(await page.post('/forgot', { email: email ?? PERSON })))
  await waitUntil('the mail server heard the password', async () => {
    return heard.some(text => /AUTH/.test(text))
  })
  const metrics = await fetch(`${program.url}/metrics`)
  shown.push(await metrics.text())
  const doctor = place.start({ role: 'doctor', environment })
  await doctor.exited
  shown.push(doctor.stdout(), doctor.stderr())
  // The store goes away.
  await store.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where pid <> pg_backend_pid() and datname = current_database()`,
  )
  const { base_url, tracker_secret } = place.credentials()
  const list = { headers: { authorization: `Bearer ${tracker_secret}` } }
  shown.push(await (await fetch(`${base_url}/dashboard/events`, list)).text())
  await program.kill('SIGTERM')
  const places = {
    log: program.stdout() + program.stderr(),
    answers: shown.join('\n'),
    spans: receiver.bodies.join(''),
    store: await dumpAsText(store.database),
  }
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 500, `${place}: ${text}`)
    assert.deepEqual(findSecrets(text, secrets), [], place)
  }
  assert.equal(receiver.headers[0]?.['api-key'], header)
})
