import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import type { Database } from '../../runtime/db/database.ts'

const EMAIL = 'Jane.Geheim+tag@Mail-Example.com'
const PHONE = '+49 1512 3456789'
const PERSON = {
  em: [EMAIL, ` ${EMAIL.toUpperCase()}`],
  ph: PHONE,
  fn: 'Xaverina',
  ln: "O'Quellenbrunn",
  ct: 'Wolpertshausen',
  st: 'Hohenlohe',
  zp: 'SW1A 2AA',
  db: '1987-03-14',
  external_id: 'customer-4711-geheim',
  [EMAIL]: EMAIL,
}

/**
 * Pieces that no spelling of the person above can do without; compared in lower case. Each is long,
 * or has letters that no digest in hexadecimal has: keys and digests are others at each run.
 */
const TRACES = [
  ...['geheim', 'mail-example', '3456789', 'xaverina', 'quellenbrunn', 'wolpertshausen'],
  ...['hohenlohe', 'sw1a2', 'sw1a 2', '1987-03', '19870314', 'customer-4711'],
]

const GRANTED = { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' }
const ENCODED = encodeURIComponent(EMAIL)

/** The same person in every place where a body can carry one. */
const SUBMISSIONS: Record<string, unknown>[] = [
  { user_data: PERSON },
  { visitor_id: EMAIL },
  { action_source: EMAIL },
  { action_source: `Shop of ${PHONE}` },
  { action_source: encodeURIComponent(EMAIL) },
  { visitor_id: PHONE },
  { consent: { ...GRANTED, [EMAIL]: 'granted', source: EMAIL, method: PHONE, granted: PERSON } },
  { consent: { ...GRANTED, captured_at: EMAIL, purposes: { ads: true, who: EMAIL } } },
  { consent: GRANTED, consent_mode: { ad_storage: EMAIL, [EMAIL]: 'granted' } },
  { consent: GRANTED, tcf: { string: EMAIL, captured_at: PHONE, [EMAIL]: 1 } },
  { click_ids: { fbclid: EMAIL, gclid: PHONE, fbc: `fb.1.1700000000000.${EMAIL}`, who: EMAIL } },
  { click_ids: { fbclid: ENCODED, gclid: encodeURIComponent(ENCODED) } },
  { click_ids: { gclid: encodeURIComponent(PHONE), fbc: `fb.1.1700000000000.${ENCODED}` } },
  { [EMAIL]: EMAIL, email: EMAIL, person: PERSON },
  { value_data: { value: '1', currency: 'EUR', buyer: EMAIL, [EMAIL]: PHONE } },
  { event_source: `https://shop.example/thanks?email=${ENCODED}&fbclid=${ENCODED}#${ENCODED}` },
  { event_source: `https://jane.geheim:pw@shop.example/u/${EMAIL}?a=1&phone=4915123456789` },
  { event_source: `https://shop.example/?next=${encodeURIComponent(`/?mail=${ENCODED}`)}` },
  { event_name: 'consent_withdrawal', visitor_id: EMAIL, user_data: PERSON },
  { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest', visitor_id: EMAIL },
]

it('stores and logs no raw identifier, wherever it is in the body', async test => {
  const service = await startTestService(test)
  for (const [index, changes] of SUBMISSIONS.entries()) {
    const ofLifecycle = changes.consent_basis === 'legitimate_interest'
    const usual = ofLifecycle ? { user_data: undefined, value_data: undefined } : {}
    const body = samplePurchase({ event_id: `event-${index}`, ...usual, ...changes })
    assert.equal((await service.submit(body)).status, 202, `submission ${index}`)
    // The same id with another body makes the service look at both.
    assert.equal((await service.submit({ ...body, again: EMAIL })).status, 200)
  }
  await service.deliver()
  const stored = await everythingStored(service.database)
  assert.ok(stored.includes(hash('sha256', EMAIL.toLowerCase())), 'the digest is what is stored')
  assertNoTrace(stored, 'the store')
  assertNoTrace(service.logged(), 'the log')
  for (const index of SUBMISSIONS.keys()) {
    assertNoTrace((await service.read(`event-${index}`)).text, `the read of event ${index}`)
  }
})

it('returns and logs no raw identifier with a 4xx', async test => {
  const service = await startTestService(test)
  const person = { visitor_id: EMAIL, user_data: PERSON }
  const refused: Record<string, unknown>[] = [
    { ...person, event_source: EMAIL },
    { ...person, event_time: EMAIL },
    { ...person, value_data: { value: EMAIL, currency: PHONE, order_id: 1 } },
    { ...person, consent: { ...PERSON, ads: false, [EMAIL]: false } },
    { ...person, consent_basis: EMAIL },
    { ...person, consent_basis: 'legitimate_interest', event_name: 'Purchase' },
  ]
  for (const changes of refused) {
    const reply = await service.submit(samplePurchase(changes))
    assert.equal(reply.status, 422)
    assertNoTrace(reply.text, 'the answer')
  }
  const path = '/api/v1/events'
  for (const rawBody of [`{"email":"${EMAIL}"`, `"${EMAIL}"`, JSON.stringify([PERSON])]) {
    assertNoTrace((await service.request('POST', path, { rawBody })).text, 'the answer')
  }
  for (const id of [ENCODED, `${ENCODED}%zz`, ENCODED.repeat(60), `${ENCODED}?mail=${ENCODED}`]) {
    assertNoTrace((await service.request('GET', `${path}/${id}`)).text, 'the answer')
    assertNoTrace((await service.request('DELETE', `${path}/${id}`)).text, 'the answer')
  }
  assertNoTrace(service.logged(), 'the log')
  assert.match(service.logged(), /"status":422/)
})

it('logs no raw identifier with a 500', async test => {
  const service = await startTestService(test)
  await breakStatement(service)
  const reply = await service.submit(samplePurchase({ visitor_id: EMAIL, user_data: PERSON }))
  assert.equal(reply.status, 500)
  const message = 'Something went wrong on our side; the request id helps us find it.'
  assert.deepEqual(reply.body, { message })
  const id = reply.headers.get('request-id')
  assert.match(service.logged(), new RegExp(`"request_id":"${id}","msg":"request failed"`))
  for (const trace of [...TRACES, 'order-1001', 'shop.example', service.tracker.trackerSecret]) {
    assert.ok(!service.logged().includes(trace), `the log holds ${trace}`)
  }
})

/** Each new row breaks a rule, which makes PostgreSQL repeat the whole row in its error. */
async function breakStatement({ database }: TestService): Promise<void> {
  await database.pool.query('alter table events add constraint never check (false) not valid')
}

function assertNoTrace(text: string, place: string): void {
  const lower = text.toLowerCase()
  for (const trace of TRACES) assert.ok(!lower.includes(trace), `${place} holds ${trace}: ${text}`)
}

/** Every row of every table as text. */
async function everythingStored({ pool }: Database): Promise<string> {
  const { rows: tables } = await pool.query(
    `select quote_ident(relname) as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  assert.ok(tables.length > 10)
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query(`select t::text as row from ${name} t`)
    texts.push(...rows.map(({ row }) => row))
  }
  return texts.join('\n')
}
