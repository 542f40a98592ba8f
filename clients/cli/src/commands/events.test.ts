import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { SHOP_ORIGIN, samplePageView } from '../../../../testing/fixtures/sample-events.ts'
import { startCli } from '../../testing/run-command.ts'

const PURCHASE = ['--name', 'Purchase', '--consent-basis', 'consent']

it('creates, shows and lists an event, and hashes its email here', async test => {
  const { service, run } = await startCli(test)
  const money = ['--value', '19.90', '--currency', 'EUR']
  const agreed = ['--consent-granted-at', '2026-11-21T11:00:00Z']
  const given = ['--id', 'order-1', '--email', ' Jane@Example.com', ...money, ...agreed]
  const dry = await run(['events', 'create', ...PURCHASE, ...given, '--dry-run'])
  const digest = createHash('sha256').update('jane@example.com').digest('hex')
  assert.match(dry.stdout, new RegExp(`"em": "${digest}"`))
  assert.doesNotMatch(dry.stdout, /jane/i)
  assert.match(
    dry.stdout,
    /✓ The service would store it\.\nNothing was sent\. Not checked, .+: consent categories of/,
  )
  const created = await run(['events', 'create', ...PURCHASE, ...given])
  assert.deepEqual(created, { code: 0, stdout: '✓ order-1 is stored.\n', stderr: '' })
  const again = await run(['events', 'create', ...PURCHASE, ...given, '--json'])
  assert.deepEqual(JSON.parse(again.stdout), { event_id: 'order-1', duplicate: true })
  await service.deliver()
  const shown = await run(['events', 'get', 'order-1'])
  assert.match(shown.stdout, /^Purchase {2}order-1 {2}19\.90 EUR\n/)
  assert.match(shown.stdout, /Granted: the event may be sent\.\n/)
  assert.match(shown.stdout, /Reason +granted_by_consent\n/)
  assert.match(shown.stdout, /The platform accepted the event with the first attempt/)
  assert.match(shown.stdout, /accepted +200 +\d+ ms/)
  const list = await run(['events', 'list'])
  assert.match(list.stdout, /^Happened \(UTC\) +Event +ID +Value +Delivery\n/)
  assert.match(list.stdout, /Purchase +order-1 +19\.90 EUR +accepted\n$/)
  assert.match(list.stderr, /^1-1 of 1 event, page 1 of 1/)
})

it('never overwrites the consent of --data, and shows what the service would drop', async test => {
  const { run } = await startCli(test)
  const agreed = ['--consent-granted-at', '2026-11-21T11:00:00Z']
  const denied = ['--data', '{"consent":{"advertising":"denied"}}']
  const refused = await run(['events', 'create', ...PURCHASE, ...denied, ...agreed])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--data says the consent: leave out --consent-granted-at\./)
  const dry = await run(['events', 'create', ...PURCHASE, '--phone', '12', '--dry-run'])
  assert.match(dry.stdout, /would store it\.\n! The user_data\.ph field was dropped: .+\nNothing/)
})

it('waits for the delivery', async test => {
  const { service, run } = await startCli(test)
  const lead = ['--name', 'Lead', '--consent-basis', 'consent']
  const waiting = run(['events', 'create', ...lead, '--email', 'a@example.com', '--wait', '20'])
  const timer = setInterval(() => void service.deliver(), 200)
  test.after(() => clearInterval(timer))
  const { code, stdout } = await waiting
  clearInterval(timer)
  assert.match(stdout, /is stored\.\n! .+\n\nDelivery to .+ accepted\n/)
  assert.equal(code, 0)
})

it('waits for the event of a page, not for the one of a server with its ID', async test => {
  const { service, run } = await startCli(test)
  await run(['events', 'create', '--id', 'same', '--name', 'Lead', '--consent-basis', 'consent'])
  await service.deliver()
  const secret = service.tracker.publishableKey
  const sent = await service.request('POST', '/api/v1/events', {
    secret,
    headers: { origin: SHOP_ORIGIN },
    body: samplePageView({ event_id: 'same', user_data: { em: 'a@example.com' } }),
  })
  assert.equal(sent.status, 202)
  const waiting = run(['events', 'get', 'same', '--space', 'publishable', '--wait', '20'])
  const timer = setInterval(() => void service.deliver(), 200)
  test.after(() => clearInterval(timer))
  const { code, stdout } = await waiting
  clearInterval(timer)
  assert.match(stdout, /^PageView {2}same/)
  assert.match(stdout, /The platform accepted the event with the first attempt/)
  assert.equal(code, 0)
})

it('prints every event as NDJSON or CSV', async test => {
  const { run } = await startCli(test)
  for (const [id, name] of [
    ['a', ' =cmd()'],
    ['b', '=cmd()'],
    ['c', '＝cmd()'],
  ] as const) {
    await run(['events', 'create', '--id', id, '--name', name, '--consent-basis', 'consent'])
  }
  const lines = await run(['events', 'list', '--all', '--per-page', '2', '--json'])
  const ids = lines.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).id)
  assert.deepEqual(ids.sort(), ['a', 'b', 'c'])
  const { stdout } = await run(['events', 'list', '--all', '--csv'])
  assert.match(stdout, /^id,event_name,.*,delivery_statuses\r\n/)
  assert.match(stdout, /\r\nb,'=cmd\(\),/)
  assert.match(stdout, /\r\nc,'＝cmd\(\),/)
})

it('exits with the code of each failure, and names the fields and the request', async test => {
  const { service, run, folder } = await startCli(test)
  const code = async (argumentList: string[], options = {}) =>
    (await run(argumentList, options)).code
  assert.equal(await code(['events', 'list']), 0)
  assert.equal(await code(['events', 'create', '--file', folder]), 2)
  assert.equal(await code(['events', 'list', '--per-page', '101']), 2)
  assert.equal(await code(['events', 'lost']), 2)
  assert.equal(await code(['events', 'list', '--token', 'x']), 2)
  const access = { SIGNALBOX_BASE_URL: service.url }
  assert.equal(await code(['events', 'list'], { environment: access }), 4)
  const wrong = { ...access, SIGNALBOX_TOKEN: 'sbx_sk_wrong' }
  assert.equal(await code(['events', 'list'], { environment: wrong }), 4)
  assert.equal(await code(['events', 'get', 'unknown']), 5)
  const refused = await run(['events', 'create', ...PURCHASE, '--value', '1'])
  assert.equal(refused.code, 6)
  assert.match(refused.stderr, /^Error: .+\n {2}value_data\.currency {2}.+\nRequest-Id: req_/)
  const json = await run(['events', 'create', ...PURCHASE, '--value', '1', '--json'])
  assert.equal(json.stdout, '')
  assert.deepEqual(Object.keys(JSON.parse(json.stderr).error.errors), ['value_data.currency'])
  const nowhere = { SIGNALBOX_TOKEN: 'sbx_sk_1', SIGNALBOX_BASE_URL: 'http://127.0.0.1:1' }
  assert.equal(await code(['events', 'list'], { environment: nowhere }), 7)
  const redirected = { SIGNALBOX_TOKEN: 'sbx_sk_1', SIGNALBOX_BASE_URL: `${service.url}/nowhere` }
  assert.equal(await code(['events', 'list'], { environment: redirected }), 5)
  const interrupted = AbortSignal.abort()
  assert.equal(await code(['events', 'list'], { signal: interrupted }), 130)
})
