import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import {
  CONSENT,
  INIT,
  INTEGRITY,
  KEY,
  STUB,
  shopUnderTest,
  TAG,
} from './testing/shop-under-test.ts'

const EVENT = `signalbox('event', 'Purchase', { event_id: 'order-1' });`

it('the README snippet works with a key and the tag filled in', async test => {
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  const snippet = /```html\n([\s\S]*?)```/.exec(readme)?.[1] ?? assert.fail()
  const html = snippet.replace('sbx_pk_...', KEY).replace(/src="[^"]+"/, 'src="/tag.js"')
  const shop = await shopUnderTest(test, { html })
  await shop.run(CONSENT)
  const [request] = await shop.received(1)
  assert.equal(request?.event.event_name, 'PageView')
})

it('runs under a strict content security policy with its integrity attribute', async test => {
  const policy = `default-src 'none'; script-src '${INTEGRITY.sha384}' 'self'; connect-src 'self'`
  const headers = { 'content-security-policy': `${policy}; require-trusted-types-for 'script'` }
  const shop = await shopUnderTest(test, { headers, script: CONSENT + EVENT })
  await shop.received(1)
  assert.deepEqual(
    shop.consoleMessages.filter(text => !text.includes('data:,')),
    [],
  )
})

it('a modified tag does not run, and the page works with the stub', async test => {
  const shop = await shopUnderTest(test, { tag: `${TAG} `, script: CONSENT + EVENT })
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.equal(await shop.run('signalbox.q.length'), 3)
  assert.match(shop.consoleMessages.join(), /integrity/)
})

it('runs the calls queued by the stub in order', async test => {
  const beginning = `${STUB} ${EVENT} ${CONSENT} ${INIT}`
  const shop = await shopUnderTest(test, { initialScript: beginning })
  await shop.received(1)
  assert.equal(await shop.run('signalbox.version'), INTEGRITY.version)
})

it('keeps the first instance when loaded twice', async test => {
  const shop = await shopUnderTest(test, { script: CONSENT + EVENT })
  await shop.received(1)
  await shop.run('window.first = signalbox')
  await shop.page.addScriptTag({ url: '/tag.js' })
  assert.equal(await shop.run('first === signalbox'), true)
  await shop.settled()
  assert.equal(shop.startedRequests.length, 1)
})

it('rejects a secret key without repeating it', async test => {
  const secret = 'sbx_sk_example-of-the-documents'
  const beginning = `${STUB} signalbox('init', { key: '${secret}', endpoint: '/sb' });`
  const shop = await shopUnderTest(test, {
    initialScript: beginning,
    script: CONSENT + EVENT,
  })
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.match(shop.consoleMessages.join(), /no publishable key/)
  assert.doesNotMatch(shop.consoleMessages.join(), /sbx_sk/)
})

it('logs errors and throwing callbacks as console warnings', async test => {
  const script = `signalbox(); signalbox('track', 'x'); signalbox('init'); signalbox('consent');
    signalbox('event', 'Search', { event_id: 'first' }, () => {
      window.isCalled = true; throw Error('mine') });
    window.fbq = () => { throw Error('pixel') };`
  const beginning = `${STUB} signalbox('init', { key: '${KEY}', endpoint: '/sb', pixel: true });`
  const shop = await shopUnderTest(test, {
    initialScript: beginning,
    script: script + EVENT,
  })
  await shop.run(CONSENT)
  const [batch] = await shop.received(1)
  assert.equal(batch?.event.events.length, 2)
  await shop.page.waitForFunction('window.isCalled')
  await shop.settled()
  assert.match(shop.consoleMessages.join(), /mine/)
  assert.equal(
    shop.consoleMessages.every(text => text.startsWith('signalbox')),
    true,
  )
})

it('sends a snapshot of each event, and valid events beside an invalid one', async test => {
  const script = `const cart = { value: '1.00' };
    signalbox('event', 'AddToCart', { event_source: 'no URL', event_id: 'bad' });
    signalbox('event', 'AddToCart', { value_data: cart, event_id: 'good' }); cart.value = '9.99';
    cart.self = cart; signalbox('event', 'AddToCart', { value_data: cart });`
  const shop = await shopUnderTest(test)
  await shop.run(script + CONSENT)
  const [request] = await shop.received(1)
  assert.equal(request?.event.event_id, 'good')
  assert.deepEqual(request?.event.value_data, { value: '1.00' })
})

it('works on a page that forbids cookies', async test => {
  const browserScript = `Object.defineProperty(Document.prototype, 'cookie', {
    get() { throw new DOMException('no', 'SecurityError') },
    set() { throw new DOMException('no', 'SecurityError') },
  })`
  const script = `${CONSENT} ${EVENT} signalbox('event', 'Search');`
  const shop = await shopUnderTest(test, { browserScript, script })
  const [first, second] = await shop.received(2)
  assert.equal(first?.event.visitor_id, second?.event.visitor_id)
})
