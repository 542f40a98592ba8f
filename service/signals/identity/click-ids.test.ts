import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CLICK_COOKIES, CLICK_ID_SOURCES, CLICK_PARAMETERS } from '@signalbox/contract/click-ids.ts'
import fc from 'fast-check'
import { VENDOR_NAMES } from '../consent/consent-vocabulary.ts'
import { collectClickIds, selectClickIds } from './click-ids.ts'
import { DROP_REASONS } from './dropped-fields.ts'

const PAGE = 'https://shop.example/shoes'
const refuse = (...vendors: string[]) => new Set(vendors)

/** An address and a phone number with the marks of HTML and JSON, percent-encoded as in a URL. */
const WRITTEN = [
  ...['jane&#64;mail.example', 'jane&#x40;mail.example', 'jane&commat;mail.example'],
  ...['jane\\u0040mail.example', '&#43;4915123456789', '&plus;4915123456789'],
].flatMap(text => [encodeURIComponent(text), encodeURIComponent(encodeURIComponent(text))])
WRITTEN.push('jane%u0040mail.example', '%u002B4915123456789')

describe('the table of click IDs', () => {
  it('names each ID once, in any case, and a vendor that consent platforms name', () => {
    const names = CLICK_ID_SOURCES.map(({ name }) => name.toLowerCase())
    assert.equal(new Set(names).size, names.length)
    for (const { vendor } of CLICK_ID_SOURCES) assert.ok(VENDOR_NAMES.includes(vendor), vendor)
  })

  it('has a member for each cookie and parameter', () => {
    const clickIds = Object.fromEntries(CLICK_COOKIES.map(cookie => [cookie, 'GCL.17.abcdefgh']))
    const { dropped } = selectClickIds(clickIds)
    // Only those of Meta and a visit have a form of their own.
    const named = dropped.map(({ field }) => field)
    const own = ['_fbc', '_fbp', '_dm_session_attributes']
    assert.deepEqual(
      named,
      own.map(name => `click_ids.${name}`),
    )
    for (const name of ['gclid', 'ttclid', 'epik', 'ScCid', 'rdt_cid', 'li_fat_id', 'msclkid'])
      assert.ok(CLICK_PARAMETERS.includes(name), name)
  })
})

describe('collectClickIds', () => {
  it('takes the members, then the first parameter of each name, in any case', () => {
    const event_source = `${PAGE}?SCCID=Of-Page&ttclid=first&ttclid=second&epik=dj0%3D&gclid=page#x`
    const { clickIds, eventSource, dropped } = collectClickIds({
      click_ids: { gclid: 'own', _ttp: 'browser', __oppref: 'opp', scid: 'cookie' },
      event_source,
    })
    assert.deepEqual(clickIds, {
      gclid: 'own',
      ttp: 'browser',
      oppref: 'opp',
      scid: 'cookie',
      ScCid: 'Of-Page',
      ttclid: 'first',
      epik: 'dj0=',
    })
    assert.equal(eventSource, event_source)
    assert.deepEqual(dropped, [])
  })

  it('does not read browser IDs from a URL, which others write', () => {
    const event_source = `${PAGE}?_ttp=a&ttp=a&_scid=b&scid=b&_fbp=fb.1.1700000000000.1&rdt_uuid=c`
    assert.deepEqual(collectClickIds({ event_source }).clickIds, {})
  })

  it('drops values of the wrong kind, form and length', () => {
    const long = 'x'.repeat(513)
    for (const value of [
      1,
      true,
      [],
      {},
      long,
      'a@b.example',
      'a%40b.example',
      '%2B4915123456789',
      ...WRITTEN,
    ])
      for (const { name } of CLICK_ID_SOURCES.filter(({ form }) => form === 'opaque')) {
        assert.deepEqual(selectClickIds({ [name]: value }).clickIds, {}, `${name} ${value}`)
        const query = new URLSearchParams({ [name]: String(value) })
        const { clickIds } = collectClickIds({ event_source: `${PAGE}?${query}` })
        if (!/^(1|true)$/.test(`${value}`) && `${value}` !== '') assert.deepEqual(clickIds, {})
      }
  })

  it('drops an identifier in the marks of HTML and JSON from IDs of Meta and from a visit', () => {
    for (const text of WRITTEN) {
      const fbc = `fb.1.1700000000000.${text}`
      assert.deepEqual(selectClickIds({ fbclid: text, fbc }).clickIds, {}, text)
    }
    for (const { name, form } of CLICK_ID_SOURCES) {
      if (form !== 'visit') continue
      const visit = Buffer.from('{"page":"/?mail=jane&#64;mail.example"}').toString('base64url')
      assert.deepEqual(selectClickIds({ [name]: visit }).clickIds, {}, name)
    }
    const kept = { ttclid: 'E.C.P%26%2338%3B.abc', fbclid: 'IwAR%u0041' }
    assert.deepEqual(selectClickIds(kept).clickIds, kept)
  })

  it('keeps nothing of a refused vendor, and the URL without its parameter', () => {
    const click_ids = { ttclid: 'a', _ttp: 'b', gclid: 'google-click' }
    const event_source = `${PAGE}?ttclid=c&size=40&TTCLID=d#top`
    const collected = collectClickIds({ click_ids, event_source }, refuse('tiktok'))
    assert.deepEqual(collected.clickIds, { gclid: 'google-click' })
    assert.equal(collected.eventSource, `${PAGE}?size=40#top`)
    assert.deepEqual(
      collected.dropped.map(({ field, reason }) => [field, reason === DROP_REASONS.refusedClick]),
      [
        ['click_ids.ttclid', true],
        ['click_ids.ttp', true],
        ['event_source', true],
      ],
    )
    const only = collectClickIds({ event_source: `${PAGE}?ttclid=c` }, refuse('tiktok'))
    assert.equal(only.eventSource, PAGE)
  })

  it('holds for any value: known names, bounded texts, and no ID of a refused vendor', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 600 }))
    const name = fc.oneof(
      fc.constantFrom(...CLICK_ID_SOURCES.map(one => one.name), ...CLICK_COOKIES),
      fc.string(),
    )
    const members = fc.dictionary(name, fc.oneof(text, fc.anything()))
    const query = fc.array(fc.tuple(name, text))
    const vendors = fc.subarray([...VENDOR_NAMES])
    const vendorOf = new Map(CLICK_ID_SOURCES.map(one => [one.name, one.vendor]))
    fc.assert(
      fc.property(members, query, vendors, (click_ids, parameters, refused) => {
        const url = `${PAGE}?${new URLSearchParams(parameters)}`
        const submitted = { click_ids, event_source: url }
        const all = collectClickIds(submitted)
        const kept = collectClickIds(submitted, refuse(...refused))
        for (const [key, value] of Object.entries(all.clickIds)) {
          const vendor = vendorOf.get(key)
          assert.ok(vendor !== undefined && value.length <= 4_002)
          // A refusal of one platform removes nothing of another one.
          assert.equal(kept.clickIds[key], refused.includes(vendor) ? undefined : value)
        }
        assert.ok(Object.keys(kept.clickIds).every(key => Object.hasOwn(all.clickIds, key)))
        assert.equal(all.eventSource, url)
      }),
    )
  })
})
