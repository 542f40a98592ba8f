import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import {
  type Dump,
  dumpDatabase,
  findTraces,
  listEncodings,
} from '../../../testing/fixtures/database-dump.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { ensurePartitions } from '../events/partition-store.ts'

const EMAIL = 'Magda.Zyx@Erase-Scan.example'
const PHONE = '4915127654321'
const EXTERNAL_ID = 'Crm-Zyx-77'
const VISITOR = 'visitor-zyx-77'
const CLICK = 'IwZyxClick77AbCdEf'
const LATER_CLICK = 'IwZyxLater88AbCdEf'
// The prefix is encoded in a payload (signals/events/column-encoding.ts).
const BROWSER_NUMBER = '1795262000000.7070707070'
const BROWSER = `fb.1.${BROWSER_NUMBER}`
const AGENT_NAME = 'Zyx77) ScanBrowser'
const AGENT = `Mozilla/5.0 (${AGENT_NAME}`

/** All identifying values of the person. */
const NEEDLES = [
  ...[EMAIL, PHONE, EXTERNAL_ID, VISITOR, CLICK, LATER_CLICK, BROWSER_NUMBER, AGENT_NAME],
  ...['81.2.69.177', 'Zyxmagda', 'Zyxwaldmann', 'Zyxhausen', 'GclZyx77'],
]

/** The values in the store before the erasure, raw or as a digest. */
const USER_DATA = {
  em: EMAIL,
  ph: `+${PHONE}`,
  external_id: EXTERNAL_ID,
  client_ip_address: '81.2.69.177',
  client_user_agent: AGENT,
  fbp: BROWSER,
  fn: 'Zyxmagda',
  ln: 'Zyxwaldmann',
  ct: 'Zyxhausen',
}
const PAGE =
  `https://shop.example/checkout?fbclid=${CLICK}&email=${encodeURIComponent(EMAIL)}` +
  `&gclid=GclZyx77#of=${CLICK}`

/** A platform whose answers repeat the request. */
const ECHO = `${EMAIL} (${hash('sha256', EMAIL.toLowerCase())}, ${VISITOR}) is not welcome`
const REFUSED = { status: 400, code: 100, subcode: 2_804_050, message: ECHO, user_title: ECHO }

const KEYS = {
  'the email address': EMAIL.toLowerCase(),
  'the phone number': PHONE,
  'the external id': EXTERNAL_ID.toLowerCase(),
}

for (const [name, identifier] of Object.entries(KEYS)) {
  it(`leaves nothing in tables, statistics and logs after an erasure by ${name}`, async test => {
    const service = await startTestService(test)
    await leaveTraces(service)
    await withdraw(service, name)
    await service.database.pool.query('analyze')
    const before = await dumpDatabase(service.database)
    for (const needle of NEEDLES) {
      assert.notEqual(findTraces(before, [needle]).length, 0, `${needle} was never stored`)
    }

    const body = { identifier_hash: hash('sha256', identifier).toUpperCase() }
    const reply = await service.request('DELETE', '/api/v1/user-data', { body })
    assert.equal(reply.status, 200, reply.text)
    const after = await dumpDatabase(service.database)
    assert.deepEqual(findTraces(after, NEEDLES), [])
    assert.deepEqual(rowsOfOthers(after), rowsOfOthers(before))

    // Duplicates and later deliveries store nothing of the person again.
    await sendAgain(service)
    await service.deliver()
    assert.deepEqual(findTraces(await dumpDatabase(service.database), NEEDLES), [])
    await provokeErrors(service)
    assert.deepEqual(findTraces(service.logged().split('\n'), NEEDLES), [])
    assert.deepEqual(findTraces(await storeLog(service), NEEDLES), [])
  })
}

it('finds every encoding of every value, in text and in bytes', async test => {
  const { database } = await startTestService(test)
  await database.pool.query('create schema hidden')
  // Without autovacuum: values sampled by ANALYZE would be found a second time.
  await database.pool.query(
    'create table hidden.planted (text text, bytes bytea) with (autovacuum_enabled = off)',
  )
  for (const value of NEEDLES) {
    const digest = hash('sha256', value.toLowerCase())
    const planted = [
      ...[value, value.toUpperCase(), encodeURIComponent(value), digest, digest.toUpperCase()],
      ...[digest.slice(0, 16), Buffer.from(`x ${value} y`).toString('base64')],
      Buffer.from(digest, 'hex').toString('base64url'),
    ]
    for (const text of planted) {
      await database.pool.query('insert into hidden.planted values ($1, null)', [text])
    }
    for (const bytes of [Buffer.from(value), Buffer.from(digest, 'hex')]) {
      await database.pool.query('insert into hidden.planted values (null, $1)', [bytes])
    }
    const traces = findTraces(await dumpDatabase(database), [value])
    assert.equal(traces.length, planted.length + 2, `${value}: ${listEncodings(value)}`)
    await database.pool.query('delete from hidden.planted')
  }
})

/** Six days of events of the person, with others in the same requests to the platform. */
async function leaveTraces(service: TestService): Promise<void> {
  const { clock, database, simulatorUrl } = service
  // The later days have no partition, so the default partition has rows too.
  await ensurePartitions(database, clock.now(), 3)
  const submit = (event_id: string, changes: object = {}) =>
    service.submit(purchaseOf(event_id, changes))
  const fail = (respond: object) => scriptFaults(simulatorUrl, [{ times: 1, respond }])

  // An anonymous click, then a purchase without the click: the session joins them.
  await submit('seen', { user_data: { client_user_agent: AGENT } })
  await submitOthers(service, 1)
  const joined = { event_source: 'https://shop.example/thanks', click_ids: { gclid: 'GclZyx77' } }
  await submit('accepted', joined)
  await service.deliver()
  const [sent] = (await service.received('event_id=accepted')).events
  assert.match(JSON.stringify(sent), new RegExp(`"fbc":"fb\\.1\\.\\d+\\.${CLICK}"`))
  await submit('accepted', { event_name: 'Lead' })
  clock.advance(DAY_SECONDS)
  await submit('refused')
  await fail(REFUSED)
  await service.deliver()
  // A refused request with several people; its halves are accepted.
  await submit('in-company', { click_ids: { fbclid: LATER_CLICK } })
  await submitOthers(service, 2)
  await fail(REFUSED)
  await service.deliver()
  clock.advance(DAY_SECONDS)
  await testPurchase(service)
  await submit('in-test-mode')
  await service.deliver()
  clock.advance(DAY_SECONDS)
  await submit('retrying')
  await fail({ status: 503, code: 2, message: ECHO })
  await service.deliver()
  clock.advance(2 * DAY_SECONDS)
  await submit('waiting', { parent_event_id: 'accepted' })
  await submitOthers(service, 3)
}

function purchaseOf(event_id: string, changes: object = {}): Record<string, unknown> {
  const person = { visitor_id: VISITOR, user_data: USER_DATA }
  return samplePurchase({ event_id, event_source: PAGE, ...person, ...changes })
}

/** All events again, and a new one. */
async function sendAgain(service: TestService): Promise<void> {
  const ids = 'seen accepted refused in-company in-test-mode retrying waiting goodbye'
  for (const event_id of ids.split(' ')) {
    assert.equal((await service.submit(purchaseOf(event_id))).status, 200, event_id)
  }
  assert.equal((await service.submit(purchaseOf('new'))).status, 202)
}

async function submitOthers(service: TestService, round: number): Promise<void> {
  for (const [index, email] of ['john@other.example', 'joan@other.example'].entries()) {
    const changes = { event_id: `other-${round}-${index}`, visitor_id: `other-visitor-${index}` }
    await service.submit(
      samplePurchase({ ...changes, event_source: PAGE_OF_OTHERS, user_data: { em: email } }),
    )
  }
}

const PAGE_OF_OTHERS = 'https://shop.example/?fbclid=ClickOfSomebodyElse'

async function testPurchase({ request, tracker, clock }: TestService): Promise<void> {
  const { destinationId } = tracker
  const path = `/api/v1/destinations/${destinationId}`
  const enabled = { enabled: true, test_event_code: 'TEST77' }
  await request('PATCH', `${path}/test-mode`, { body: enabled })
  const order = `other-test-${clock.now().getTime()}`
  await request('POST', `${path}/test-purchase`, { body: { order_id: order } })
}

/** Events under the identifier of the erasure, raw where possible. */
async function withdraw(service: TestService, name: string): Promise<void> {
  const consented = { consent_basis: 'consent', consent: { ad_user_data: 'denied' } }
  const withdrawals: Record<string, object> = {
    'the email address': { ...consented, user_data: { em: EMAIL } },
    'the phone number': { consent_basis: 'legitimate_interest', visitor_id: `+${PHONE}` },
    'the external id': { consent_basis: 'legitimate_interest', visitor_id: EXTERNAL_ID },
  }
  const page = { event_source: PAGE, event_id: 'goodbye', event_name: 'consent_withdrawal' }
  const reply = await service.submit({ ...page, ...withdrawals[name] })
  assert.equal(reply.status, 202, reply.text)
}

const OTHERS = /^(public|signalbox_store)\.\S+ .*other-/

function rowsOfOthers(dump: Dump): string[] {
  const rows = dump.filter(line => OTHERS.test(line))
  assert.ok(rows.length > 12, 'the others left nothing')
  return rows.sort()
}

/** Statements that fail in PostgreSQL with personal data in the error. */
async function provokeErrors({ database }: TestService): Promise<void> {
  for (const table of ['events', 'sessions', 'deliveries']) {
    const twice = `insert into ${table} select * from ${table}`
    await assert.rejects(database.pool.query(twice), { code: '23505' })
  }
  const invalidInsert = 'insert into sessions (visitor_id) values ($1)'
  await assert.rejects(database.pool.query(invalidInsert, [EMAIL]), { code: '23502' })
}

/** The log of this test's PostgreSQL, started with the settings of the embedded one. */
async function storeLog({ database }: TestService): Promise<string[]> {
  // Without these settings the log has the value, which proves that this is the right log.
  const word = `told-${randomUUID()}`
  const client = await database.pool.connect()
  await client.query('set log_error_verbosity = verbose')
  const invalidInsert = 'insert into sessions (visitor_id) values ($1)'
  await assert.rejects(client.query(invalidInsert, [word]), { code: '23502' })
  client.release(true)

  const { rows } = await database.pool.query(`select current_setting('data_directory') as folder`)
  const path = join(dirname(rows[0].folder), 'postgres.log')
  const lines = readFileSync(path, 'utf8').split('\n')
  assert.equal(findTraces(lines, [word]).length, 1)
  return lines
}
