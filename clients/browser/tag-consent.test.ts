import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CONSENT, shopUnderTest } from './testing/shop-under-test.ts'

const GTAG = 'window.dataLayer = []; function gtag() { dataLayer.push(arguments) };'
const EVENT = `signalbox('event', 'Purchase', { event_id: 'order-1' });`
const DENIED = `{ ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied' }`
const GRANTED = DENIED.replaceAll('denied', 'granted')
/** A consent platform that says nothing until the test speaks through \`tellTcf\`. */
const TCF = 'window.__tcfapi = (command, version, callback) => { window.tellTcf = callback };'
const PURPOSES = '{ 1: true, 2: false, 3: true, 4: true, 7: true }'

it('sends nothing and sets no cookie before consent is known', async test => {
  const shop = await shopUnderTest(test, { script: EVENT })
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.deepEqual(await shop.cookies(), [])
  assert.equal(await shop.run('localStorage.length + sessionStorage.length'), 0)

  await shop.run(CONSENT)
  const [request] = await shop.received(1)
  assert.equal(request?.event.event_id, 'order-1')
  assert.deepEqual(await shop.cookies(), ['_sbx'])
  assert.deepEqual(shop.consoleMessages, [])
})

it("sends the page's consent unchanged, on the basis of consent", async test => {
  const captured = '2026-11-21T12:00:00Z'
  const consent = `{ advertising: 'granted', captured_at: '${captured}' }`
  const script = `signalbox('consent', { basis: 'consent', consent: ${consent} }); ${EVENT}`
  const shop = await shopUnderTest(test, { script })
  const [request] = await shop.received(1)
  assert.equal(request?.event.consent_basis, 'consent')
  assert.deepEqual(request?.event.consent, { advertising: 'granted', captured_at: captured })
})

it('drops waiting events on denial, and sends events after a later grant', async test => {
  const script = `window.results = [];
    signalbox('event', 'Search', { event_id: 'before' }, result => results.push(result));`
  const shop = await shopUnderTest(test, { script })
  await shop.run(`signalbox('consent', { basis: 'none' })`)
  await shop.run(`signalbox('event', 'Search', { event_id: 'after' })`)
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'before', outcome: 'dropped', status: undefined },
  ])

  await shop.run(CONSENT + EVENT)
  const requests = await shop.received(1)
  assert.deepEqual(
    requests.map(({ event }) => event.event_id),
    ['order-1'],
  )
})

it('Consent Mode: a denied default waits, and a granted update sends', async test => {
  const script = `${GTAG} gtag('consent', 'default', ${DENIED}); ${EVENT}`
  const shop = await shopUnderTest(test, { script })
  await shop.run(`gtag('consent', 'update', { analytics_storage: 'granted' })`)
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])

  await shop.run(`gtag('consent', 'update', ${GRANTED})`)
  const [request] = await shop.received(1)
  assert.deepEqual(request?.event.consent_mode, {
    ad_storage: 'granted',
    ad_user_data: 'granted',
    ad_personalization: 'granted',
  })
})

it('Consent Mode: a denied update drops waiting events and removes the cookie', async test => {
  const script = `${GTAG} gtag('consent', 'default', ${GRANTED}); ${EVENT}`
  const shop = await shopUnderTest(test, { script })
  await shop.received(1)
  assert.deepEqual(await shop.cookies(), ['_sbx'])

  await shop.run(`gtag('consent', 'update', { ad_user_data: 'denied' })`)
  await shop.run(`signalbox('event', 'Purchase', { event_id: 'order-2' })`)
  await shop.settled()
  assert.deepEqual(shop.startedRequests, ['/sb/events'])
  assert.deepEqual(await shop.cookies(), [])
})

const UNSURE_DEFAULTS: [why: string, calls: string][] = [
  ['is for one region', `gtag('consent', 'default', { ...${GRANTED}, region: ['US'] })`],
  ['announces an update', `gtag('consent', 'default', { ...${GRANTED}, wait_for_update: 500 })`],
  [
    'stands beside a denial for a region',
    `gtag('consent', 'default', { ...${DENIED}, region: ['FR'] });
     gtag('consent', 'default', ${GRANTED})`,
  ],
  ['leaves ad_user_data out', `gtag('consent', 'default', { ad_storage: 'granted' })`],
  ['is no call of gtag', `dataLayer.push(null, 7, { event: 'consent', kind: 'default' })`],
]
for (const [why, calls] of UNSURE_DEFAULTS) {
  it(`Consent Mode: a granted default that ${why} is no basis`, async test => {
    const script = `${GTAG} ${calls}; ${EVENT}`
    const shop = await shopUnderTest(test, { script })
    await shop.settled()
    assert.deepEqual(shop.startedRequests, [])
    await shop.run(`gtag('consent', 'update', ${GRANTED})`)
    await shop.received(1)
    assert.deepEqual(shop.consoleMessages, [])
  })
}

it('leaves the dataLayer intact for its other readers', async test => {
  const script = `${GTAG} const push = dataLayer.push.bind(dataLayer); window.seen = [];
    dataLayer.push = (...entries) => { seen.push(...entries); return push(...entries) };`
  const shop = await shopUnderTest(test, { script })
  assert.equal(await shop.run(`dataLayer.push({ event: 'view' })`), 1)
  assert.deepEqual(await shop.run('[seen, dataLayer]'), [[{ event: 'view' }], [{ event: 'view' }]])
})

it('TCF: an open window waits, and a choice sends with its string and time', async test => {
  const script = `${TCF} ${GTAG} gtag('consent', 'default', ${GRANTED}); ${EVENT}`
  const shop = await shopUnderTest(test, { script })
  await shop.run(`tellTcf({ gdprApplies: true, eventStatus: 'cmpuishown', tcString: '' }, true)`)
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])

  const data = `gdprApplies: true, tcString: 'CP-string', purpose: { consents: ${PURPOSES} }`
  await shop.run(`tellTcf({ ${data}, eventStatus: 'useractioncomplete' }, true)`)
  const [request] = await shop.received(1)
  const { string, captured_at } = request?.event.tcf ?? {}
  assert.equal(string, 'CP-string')
  assert.match(captured_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

it('TCF: a loaded string is sent without captured_at', async test => {
  const shop = await shopUnderTest(test, { script: TCF + EVENT })
  const data = `gdprApplies: true, tcString: 'CP-string', purpose: { consents: ${PURPOSES} }`
  await shop.run(`tellTcf({ ${data}, eventStatus: 'tcloaded' }, true)`)
  const [request] = await shop.received(1)
  assert.deepEqual(request?.event.tcf, { string: 'CP-string' })
})

for (const purpose of [1, 3, 4, 7]) {
  it(`TCF: drops waiting events without consent to purpose ${purpose}`, async test => {
    const script = `${TCF} ${GTAG} gtag('consent', 'default', ${GRANTED}); ${EVENT}`
    const shop = await shopUnderTest(test, { script })
    const consents = PURPOSES.replace(`${purpose}: true`, `${purpose}: false`)
    const data = `gdprApplies: true, tcString: 'CP-string', purpose: { consents: ${consents} }`
    await shop.run(`tellTcf({ ${data}, eventStatus: 'useractioncomplete' }, true)`)
    await shop.run(EVENT)
    await shop.settled()
    assert.deepEqual(shop.startedRequests, [])
    assert.deepEqual(await shop.cookies(), [])
  })
}

it('TCF: does not require purpose 1 with purposeOneTreatment', async test => {
  const shop = await shopUnderTest(test, { script: TCF + EVENT })
  const consents = PURPOSES.replace('1: true, ', '')
  const data = `gdprApplies: true, tcString: 'CP', purposeOneTreatment: true`
  const status = `purpose: { consents: ${consents} }, eventStatus: 'tcloaded'`
  await shop.run(`tellTcf({ ${data}, ${status} }, true)`)
  await shop.received(1)
})

it('TCF: an error is no basis, and gdprApplies false is one', async test => {
  const shop = await shopUnderTest(test, { script: TCF + EVENT })
  await shop.run('tellTcf(null, false)')
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  await shop.run(`tellTcf({ gdprApplies: false, eventStatus: 'tcloaded', tcString: '' }, true)`)
  const [request] = await shop.received(1)
  assert.equal(request?.event.tcf, undefined)
})

it('TCF: finds a platform that loads after the tag', async test => {
  const shop = await shopUnderTest(test)
  await shop.run(TCF + EVENT)
  await shop.run(`tellTcf({ gdprApplies: false, eventStatus: 'tcloaded' }, true)`)
  await shop.received(1)
})

it('Global Privacy Control denies regardless of other signals', async test => {
  const browserScript =
    'Object.defineProperty(Navigator.prototype, "globalPrivacyControl", { get: () => true })'
  const script = `${GTAG} gtag('consent', 'update', ${GRANTED}); ${CONSENT} ${EVENT}`
  const shop = await shopUnderTest(test, { script, browserScript })
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.deepEqual(await shop.cookies(), [])
})

it('one denial overrides the consent of the page', async test => {
  const script = `${GTAG} ${CONSENT} gtag('consent', 'update', ${DENIED}); ${EVENT}`
  const shop = await shopUnderTest(test, { script })
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
})

it('an unknown basis is a console error and no basis', async test => {
  const shop = await shopUnderTest(test, { script: EVENT })
  await shop.run(`signalbox('consent', { basis: 'granted' })`)
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.match(shop.consoleMessages.join(), /signalbox Error: basis is consent or none/)
})

it('withdrawal removes the cookie and reports the visitor to the service', async test => {
  const shop = await shopUnderTest(test, { script: CONSENT + EVENT })
  const [purchase] = await shop.received(1)
  await shop.run(`signalbox('withdraw'); ${EVENT}`)
  const [, withdrawal] = await shop.received(2)
  assert.deepEqual(Object.keys(withdrawal?.event), [
    'event_id',
    'event_name',
    'consent_basis',
    'visitor_id',
  ])
  assert.equal(withdrawal?.event.event_name, 'consent_withdrawal')
  assert.equal(withdrawal?.event.consent_basis, 'legitimate_interest')
  assert.equal(withdrawal?.event.visitor_id, purchase?.event.visitor_id)
  await shop.settled()
  assert.equal(shop.startedRequests.length, 2)
  assert.deepEqual(await shop.cookies(), [])

  await shop.run(CONSENT + EVENT)
  const [, , again] = await shop.received(3)
  assert.notEqual(again?.event.visitor_id, purchase?.event.visitor_id)
})

it('withdrawal for some platforms is reported, and the visitor goes on', async test => {
  const shop = await shopUnderTest(test, { script: CONSENT + EVENT })
  const [purchase] = await shop.received(1)
  await shop.run(`signalbox('withdraw', undefined, ['tiktok', 'meta']); ${EVENT}`)
  const [, ...others] = await shop.received(3)
  const names = new Map(others.map(one => [one?.event.event_name, one?.event]))
  const { visitor_id } = purchase?.event ?? {}
  assert.partialDeepStrictEqual(names.get('consent_withdrawal'), {
    consent_basis: 'legitimate_interest',
    visitor_id,
    withdrawn_platforms: ['tiktok', 'meta'],
  })
  assert.equal(names.get('Purchase')?.visitor_id, visitor_id)
})

it('withdrawal works after a denial, and sends nothing without a visitor', async test => {
  const script = `${GTAG} gtag('consent', 'update', ${GRANTED});`
  const shop = await shopUnderTest(test, { script })
  await shop.run(`signalbox('withdraw')`)
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])

  await shop.run(CONSENT + EVENT)
  const [purchase] = await shop.received(1)
  await shop.run(`gtag('consent', 'update', ${DENIED}); signalbox('withdraw')`)
  const [, withdrawal] = await shop.received(2)
  assert.equal(withdrawal?.event.visitor_id, purchase?.event.visitor_id)
})
