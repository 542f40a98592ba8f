import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const EVENTS = '/api/v1/events'
/** The tests themselves connect from there. */
const LOOPBACK = { trustedProxies: '127.0.0.0/8, ::1' }
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64)'

function send(
  service: TestService,
  headers: Record<string, string>,
  changes: Record<string, unknown> = {},
) {
  const secret = service.tracker.publishableKey
  return service.request('POST', EVENTS, { secret, headers, body: samplePageView(changes) })
}

/** What the platform was told of the browser. */
async function delivered(service: TestService, eventId = 'view-1') {
  await service.deliver()
  const { events } = await service.received(`event_id=${eventId}`)
  const last = events.at(-1) as { user_data: Record<string, string> } | undefined
  assert.ok(last, 'nothing was received')
  return [last.user_data.client_ip_address, last.user_data.client_user_agent]
}

it("returns 422 for the address and the user agent in a page's body, in every spelling", async test => {
  const service = await startTestService(test)
  const names = [
    ...['client_ip_address', 'ip', 'ip_address', 'client_ip', 'clientIpAddress', 'IP-Address'],
    ...['client_user_agent', 'user_agent', 'userAgent', 'Client-User-Agent'],
  ]
  const userData = Object.fromEntries(names.map(name => [name, '8.8.8.8']))
  for (const headers of [{}, { origin: SHOP_ORIGIN }]) {
    const reply = await send(service, headers, { user_data: userData })
    assert.equal(reply.status, 422)
    assert.deepEqual(
      Object.keys(reply.body.errors),
      names.map(name => `user_data.${name}`),
    )
    assert.equal(
      reply.body.errors['user_data.ip'][0],
      'The user_data.ip field is not taken with a publishable key: the address and the user ' +
        'agent of the browser come from the trusted edge alone.',
    )
  }
  for (const value of ['', ['8.8.8.8'], 8, {}, false]) {
    assert.equal((await send(service, {}, { user_data: { ip: value } })).status, 422)
  }
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x${index}`, 1]))
  const hidden = await send(service, {}, { user_data: { ...many, ip: '8.8.8.8' } })
  assert.equal(hidden.status, 422, 'a member beyond those that are read')
})

it('accepts null address members and all other user data from a page', async test => {
  const service = await startTestService(test)
  const user_data = { client_ip_address: null, user_agent: null, em: 'jane@example.com' }
  assert.equal((await send(service, {}, { user_data })).status, 202)
  const { body } = await service.read('view-1')
  assert.deepEqual(Object.keys(body.event.user_data_hashed), ['em'])
})

it('accepts both from a secret key, from any peer', async test => {
  const service = await startTestService(test, LOOPBACK)
  const user_data = { ip: '1.1.1.1', user_agent: 'Visitor/1.0', em: 'jane@example.com' }
  const headers = { 'x-forwarded-for': '8.8.8.8', 'user-agent': BROWSER }
  assert.equal((await service.submit(samplePurchase({ user_data }), headers)).status, 202)
  assert.deepEqual(await delivered(service, 'order-1001'), ['1.1.1.1', 'Visitor/1.0'])
  const bare = samplePurchase({ event_id: 'bare', user_data: { em: 'jane@example.com' } })
  assert.equal((await service.submit(bare, headers)).status, 202)
  assert.deepEqual(await delivered(service, 'bare'), [undefined, undefined])
})

it('takes both from a trusted proxy and ignores what the browser sent', async test => {
  const service = await startTestService(test, LOOPBACK)
  const chain = '1.1.1.1, 8.8.8.8, 127.0.0.5'
  const headers = { origin: SHOP_ORIGIN, 'x-forwarded-for': chain, 'user-agent': BROWSER }
  assert.equal((await send(service, headers)).status, 202)
  assert.deepEqual(await delivered(service), ['8.8.8.8', BROWSER])
})

it('joins repeated forwarding headers before parsing them', async test => {
  const service = await startTestService(test, LOOPBACK)
  const headers = new Headers({
    authorization: `Bearer ${service.tracker.publishableKey}`,
    'content-type': 'application/json',
    'user-agent': BROWSER,
  })
  headers.append('x-forwarded-for', '1.1.1.1')
  headers.append('x-forwarded-for', '[2a00:1450:4001::1]:443')
  const body = JSON.stringify(samplePageView())
  const reply = await fetch(service.url + EVENTS, { method: 'POST', headers, body })
  assert.equal(reply.status, 202)
  assert.deepEqual(await delivered(service), ['2a00:1450:4001::1', BROWSER])
})

it('has no address and no user agent without a trusted proxy', async test => {
  const service = await startTestService(test, { trustedProxies: '10.0.0.0/8' })
  const headers = { 'x-forwarded-for': '8.8.8.8', 'user-agent': BROWSER }
  assert.equal((await send(service, headers, { user_data: { em: 'a@example.com' } })).status, 202)
  assert.deepEqual(await delivered(service), [undefined, undefined])
})

it('drops a private address, names the reason, and ignores the socket address', async test => {
  const service = await startTestService(test, LOOPBACK)
  for (const [id, chain] of [
    ['private', '192.168.1.7'],
    ['none', ''],
    ['unreadable', '8.8.8.8, unknown'],
  ] as const) {
    const headers = { 'x-forwarded-for': chain, 'user-agent': BROWSER }
    const changes = { event_id: id, user_data: { em: 'jane@example.com' } }
    assert.equal((await send(service, headers, changes)).status, 202)
    assert.deepEqual(await delivered(service, id), [undefined, BROWSER], id)
  }
  const { body } = await service.read('private')
  const { explanation } = body.deliveries[0]
  assert.match(explanation, /client_ip_address \(edge\)/)
})

it('stores the edge identity only in the expiring payload and never returns it', async test => {
  const service = await startTestService(test, LOOPBACK)
  const headers = { 'x-forwarded-for': '8.8.4.4', 'user-agent': 'Sighted/9.9' }
  assert.equal((await send(service, headers)).status, 202)
  const { pool } = service.database
  const { rows: tables } = await pool.query(
    `select oid::regclass::text as name from pg_class
     where relkind = 'r'
       and relnamespace in ('public'::regnamespace, 'signalbox_store'::regnamespace)`,
  )
  const holding: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query(`select t::text as row from ${name} t`)
    if (rows.some(({ row }) => /8\.8\.4\.4|Sighted/.test(row))) holding.push(name)
  }
  assert.ok(
    holding.length > 0 && holding.every(name => name.startsWith('event_payloads')),
    holding.join(),
  )
  assert.doesNotMatch((await service.read('view-1')).text, /8\.8\.4\.4|Sighted/)
  assert.doesNotMatch(service.logged(), /8\.8\.4\.4|Sighted/)
})

it('stores neither on legitimate interest', async test => {
  const service = await startTestService(test, LOOPBACK)
  const headers = { 'x-forwarded-for': '8.8.4.4', 'user-agent': BROWSER }
  const changes = {
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    consent: undefined,
  }
  assert.equal((await send(service, headers, changes)).status, 202)
  const { rows } = await service.database.pool.query('select * from event_payloads')
  assert.deepEqual(rows, [])
})

it('does not treat a different address as a different body', async test => {
  const service = await startTestService(test, LOOPBACK)
  assert.equal((await send(service, { 'x-forwarded-for': '8.8.8.8' })).status, 202)
  assert.equal((await send(service, { 'x-forwarded-for': '1.1.1.1' })).status, 200)
  const { rows } = await service.database.pool.query('select differing_submissions from events')
  assert.deepEqual(rows, [{ differing_submissions: 0 }])
  assert.deepEqual((await delivered(service))[0], '8.8.8.8')
})

it('warns about missing captured_at when the edge identifies the browser', async test => {
  const service = await startTestService(test, LOOPBACK)
  const consent = { ad_user_data: 'granted' }
  const seen = await send(service, { 'x-forwarded-for': '8.8.8.8' }, { consent })
  assert.equal(seen.body.warnings[0]?.code, 'consent_captured_at_invalid')
})
