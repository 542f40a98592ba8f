import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { selectClickIds } from '../../identity/click-ids.ts'
import { joinGoogleClicks, readClickCookie, resolveGoogleClicks } from './click-ids.ts'

const AT = new Date('2026-11-21T12:00:00Z')
const SECONDS = AT.getTime() / 1_000

function resolve(sent: Record<string, string>, eventSource?: string, eventTime = AT) {
  const { clickIds } = selectClickIds(sent)
  return resolveGoogleClicks({ clickIds, eventSource, eventTime, observedAt: AT })
}

describe('the click IDs of an event', () => {
  it('takes them from the caller, the page and the cookies, in this order', () => {
    const page = 'https://shop.example/?gclid=of-the-page&gbraid=braid-of-page'
    const cookie = { gcl_aw: `GCL.${SECONDS - 60}.of-the-cookie`, gcl_gb: 'GCL.1.wbraid-cookie' }
    assert.equal(resolve({ gclid: 'of-the-caller', ...cookie }, page).gclid, 'of-the-caller')
    assert.equal(resolve(cookie, page).gclid, 'of-the-page')
    assert.equal(resolve(cookie).gclid, 'of-the-cookie')
    assert.equal(resolve({}, page).gbraid, 'braid-of-page')
    assert.equal(resolve({ fbclid: 'x' }).fbclid, 'x')
    assert.deepEqual(resolve({}, 'https://shop.example/?gclid=a%40b.example'), {})
    assert.deepEqual(resolve({}, 'no URL with ?gclid=12345678'), {})
  })

  it('reads the cookies of the tag and of a server container', () => {
    const at = String(SECONDS)
    const clickedAt = SECONDS * 1_000
    for (const [text, id] of [
      [`GCL.${at}.Cj0KCQ-abc_1`, 'Cj0KCQ-abc_1'],
      [`2.1.kCj0KCQ-abc_1$i${at}$u123`, 'Cj0KCQ-abc_1'],
      [`2.1.k0AAAAAo-braid$i${at}`, '0AAAAAo-braid'],
    ] as const)
      assert.deepEqual(readClickCookie(text), { id, clickedAt })
    assert.deepEqual(readClickCookie('GCL.Cj0KCQ-abc_1'), { id: 'Cj0KCQ-abc_1', clickedAt: null })
    for (const text of ['', 'GCL.1.', 'Cj0KCQ', 'GCL.1.a@example.com', '2.1.k$i1'])
      assert.equal(readClickCookie(text), null, text)
  })

  it('finds each kind under the names of its cookies', () => {
    const server = `2.1.kthe-click-id$i${SECONDS}`
    for (const [name, cookies] of [
      ['gclid', ['_gcl_aw', 'GCL_AW', 'FPGCLAW', 'fpgclaw']],
      ['gbraid', ['_gcl_ag', 'FPGCLAG']],
      ['wbraid', ['_gcl_gb', 'FPGCLGB']],
    ] as const)
      for (const cookie of cookies)
        assert.equal(resolve({ [cookie]: server })[name], 'the-click-id')
  })

  it('reads the cookies of a visit from before there was a destination', () => {
    const seen = [{ gcl_aw: `GCL.${SECONDS - 60}.the-click-id`, gclid: 'short' }]
    assert.deepEqual(joinGoogleClicks({ own: {}, seen, eventTime: AT }), { gclid: 'the-click-id' })
    const eventTime = new Date(Number(AT) + 91 * 86_400_000)
    assert.deepEqual(joinGoogleClicks({ own: {}, seen, eventTime }), {})
  })

  it('leaves out a click that is too old or after the event', () => {
    const cookieAt = (seconds: number) => ({ gcl_aw: `GCL.${seconds}.the-click-id` })
    assert.equal(resolve(cookieAt(SECONDS - 89 * 86_400)).gclid, 'the-click-id')
    assert.equal(resolve(cookieAt(SECONDS - 91 * 86_400)).gclid, undefined)
    assert.equal(resolve(cookieAt(SECONDS + 200)).gclid, 'the-click-id')
    assert.equal(resolve(cookieAt(SECONDS + 400)).gclid, undefined)
  })
})

describe('what is known of the visit', () => {
  const page =
    'https://shop.example/shoes?gad_source=1&gad_campaignid=17&email=jane%40example.com&gad_x=%00#a'
  const decode = (text = '') => JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))

  it('is the page to which the ad led, without identifiers', () => {
    const { session_attributes } = resolve({}, page, new Date('2026-11-21T11:59:00Z'))
    assert.deepEqual(decode(session_attributes), {
      gad_source: '1',
      gad_campaignid: '17',
      session_start_time_usec: '1795262340000000',
      landing_page_url:
        'https://shop.example/shoes?gad_source=1&gad_campaignid=17&email=REDACTED&gad_x=%00',
    })
  })

  it('is not made without the campaign, nor beyond 4,000 characters', () => {
    assert.deepEqual(resolve({}, 'https://shop.example/?gad_source=1'), {})
    const long = `https://shop.example/${'a'.repeat(3_500)}?gad_source=1&gad_campaignid=17`
    assert.deepEqual(resolve({}, long), {})
  })

  it("is what Google's own script collected, where the caller sends it", () => {
    const sent = Buffer.from('{"gad_source":"2"}').toString('base64url')
    assert.equal(resolve({ session_attributes: sent }, page).session_attributes, sent)
    assert.equal(resolve({ dm_session_attributes: sent }).session_attributes, sent)
    assert.deepEqual(resolve({ session_attributes: 'no base 64' }), {})
    const page_url = '{"landing_page_url":"https://a.example/?e=jane%2540example.com"}'
    const naming = Buffer.from(page_url).toString('base64url')
    assert.deepEqual(resolve({ _dm_session_attributes: naming }), {})
  })
})

describe('an earlier visit', () => {
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    joinGoogleClicks({ own, seen, eventTime: AT })

  it('gives its clicks to an event that has none of its own', () => {
    const session_attributes = 'eyJnYWRfc291cmNlIjoiMSJ9'
    const seen = { gclid: 'seen-click', session_attributes, fbclid: 'x' }
    assert.deepEqual(join({ fbclid: 'y' }, seen), { gclid: 'seen-click', session_attributes })
    assert.deepEqual(join({ wbraid: 'own-click' }, seen), { wbraid: 'own-click' })
    assert.deepEqual(join({ gclid: 'a%20b.example' }, seen).gclid, 'seen-click')
    assert.deepEqual(join({}, {}), {})
  })

  it('of the back end counts before one that a page named', () => {
    const [trusted, named] = [{ gclid: 'back-end-1' }, { gclid: 'page-click' }]
    assert.deepEqual(join({}, trusted, named), trusted)
    assert.deepEqual(join({}, {}, named), named)
  })
})
