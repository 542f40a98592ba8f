import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { selectClickIds } from '../../identity/click-ids.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import { resolveClickCookies } from './normalize-identity.ts'

interface Submitted {
  clickIds?: Record<string, unknown>
  userData?: Record<string, unknown>
  eventSource?: string | undefined
  observedAt: Date
}

/** As acceptance does: first the form of each click ID, then the cookies. */
function resolveClickIds({ clickIds, userData, eventSource, observedAt }: Submitted) {
  const selected = selectClickIds(clickIds)
  const submitted = { clickIds: selected.clickIds, userData, eventSource, observedAt }
  const resolved = resolveClickCookies(submitted)
  return { ...resolved, dropped: [...selected.dropped, ...resolved.dropped] }
}

const observedAt = new Date('2026-11-21T04:00:00.123Z')
const observedMs = observedAt.getTime()
const FBCLID = 'IwAR2F4-dbP0l7Mn1IawQQGCINEz7PYXQvwjNwB_qa2ofrHyiLjcbCRxTDMgk'
const FBP = 'fb.1.1558571054389.1098115397'

it('builds fbc from an fbclid, its case untouched, and stamps it when it was observed', () => {
  const { clickIds, fbc } = resolveClickIds({ clickIds: { fbclid: FBCLID }, observedAt })
  assert.deepEqual(clickIds, { fbclid: FBCLID })
  assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
})

it('finds the fbclid in the URL when the click ids have none', () => {
  const eventSource = `https://shop.example/p?utm_source=x&fbclid=${FBCLID}#reviews`
  const { clickIds, fbc } = resolveClickIds({ eventSource, observedAt })
  assert.deepEqual(clickIds, { fbclid: FBCLID })
  assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
})

it('keeps the fbc that already holds the current fbclid, with its own time', () => {
  for (const fbc of [`fb.1.1554763741205.${FBCLID}`, `fb.2.1554763741205.${FBCLID}.AQMBAgEA`]) {
    const eventSource = `https://shop.example/?fbclid=${FBCLID}`
    assert.equal(resolveClickIds({ clickIds: { fbc }, eventSource, observedAt }).fbc, fbc)
    assert.equal(resolveClickIds({ userData: { fbc }, eventSource, observedAt }).fbc, fbc)
  }
})

it('replaces the fbc of an earlier click, or of the same letters in another case', () => {
  for (const earlier of ['AnotherClick', FBCLID.toLowerCase()]) {
    const { fbc } = resolveClickIds({
      clickIds: { fbclid: FBCLID },
      userData: { fbc: `fb.1.1554763741205.${earlier}` },
      observedAt,
    })
    assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
  }
})

it('keeps a lone fbc and invents neither fbc nor fbp', () => {
  const fbc = 'fb.1.1554763741205.AbCd'
  assert.equal(resolveClickIds({ userData: { fbc }, observedAt }).fbc, fbc)
  assert.deepEqual(resolveClickIds({ observedAt }), {
    clickIds: {},
    fbc: null,
    fbp: null,
    dropped: [],
  })
})

it('tries the next candidate when one is bad, and records the bad one', () => {
  const { clickIds, fbc, fbp, dropped } = resolveClickIds({
    clickIds: { fbclid: 'has spaces', fbc: 'fb.x', fbp: 'fb.1.2.3' },
    userData: { fbp: [FBP] },
    eventSource: `https://shop.example/?fbclid=${FBCLID}`,
    observedAt,
  })
  assert.deepEqual(clickIds, { fbclid: FBCLID })
  assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
  assert.equal(fbp, FBP)
  assert.deepEqual(dropped, [
    { field: 'click_ids.fbclid', reason: DROP_REASONS.clickId },
    { field: 'click_ids.fbc', reason: DROP_REASONS.fbc },
    { field: 'click_ids.fbp', reason: DROP_REASONS.fbp },
  ])
})

it('keeps the click ids of other platforms under their own spelling', () => {
  const given = { gclid: 'EAIaIQobChMI', sccid: 'a1b2-c3', li_fat_id: 'x-y', rdt_cid: '123' }
  const { clickIds, dropped } = resolveClickIds({ clickIds: given, observedAt })
  assert.deepEqual(clickIds, {
    gclid: 'EAIaIQobChMI',
    ScCid: 'a1b2-c3',
    li_fat_id: 'x-y',
    rdt_cid: '123',
  })
  assert.deepEqual(dropped, [])
})

it('takes the first of two spellings of one click id', () => {
  const fbc = 'fb.1.1554763741205.AbCd'
  const clickIds = { _fbc: fbc, FBC: 'fb.1.1554763741205.Other', gclid: 'one', GCLID: 'two' }
  const resolved = resolveClickIds({ clickIds, observedAt })
  assert.equal(resolved.fbc, fbc)
  assert.deepEqual(resolved.clickIds, { gclid: 'one' })
})

it('drops unknown names, identifiers in disguise and values of the wrong kind', () => {
  const { clickIds, dropped } = resolveClickIds({
    clickIds: JSON.parse(
      `{"__proto__": "x", "a@example.com": "x", "newclid": "x", "gclid": "a@example.com",
        "ttclid": "+16505551212", "twclid": 7, "epik": "${'x'.repeat(513)}", "wbraid": null}`,
    ),
    observedAt,
  })
  assert.deepEqual(clickIds, {})
  assert.deepEqual(dropped, [
    { field: 'click_ids.*', reason: DROP_REASONS.unknown },
    { field: 'click_ids.*', reason: DROP_REASONS.unknown },
    { field: 'click_ids.newclid', reason: DROP_REASONS.unknown },
    { field: 'click_ids.gclid', reason: DROP_REASONS.clickId },
    { field: 'click_ids.ttclid', reason: DROP_REASONS.clickId },
    { field: 'click_ids.twclid', reason: DROP_REASONS.wrongKind },
    { field: 'click_ids.epik', reason: DROP_REASONS.clickId },
  ])
})

it('a URL that is none, or an fbclid in it that is none, costs only the field', () => {
  assert.deepEqual(resolveClickIds({ eventSource: '/p?fbclid=abc', observedAt }).fbc, null)
  const bad = resolveClickIds({ eventSource: 'https://x.example/?fbclid=a%40b.co', observedAt })
  assert.equal(bad.fbc, null)
  assert.deepEqual(bad.dropped, [{ field: 'event_source', reason: DROP_REASONS.clickId }])
})

it('any input gives an answer, and any fbc in it is well formed', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom(FBCLID, FBP, `fb.1.1554763741205.${FBCLID}`))
  const members = fc.dictionary(
    fc.oneof(fc.constantFrom('fbclid', 'fbc', 'fbp', 'gclid', '__proto__'), fc.string()),
    fc.oneof(fc.jsonValue(), text, fc.array(text)),
  )
  fc.assert(
    fc.property(members, members, text, (clickIds, userData, url) => {
      const eventSource = `https://x.example/?fbclid=${url}`
      const resolved = resolveClickIds({ clickIds, userData, eventSource, observedAt })
      if (resolved.fbc !== null) assert.match(resolved.fbc, /^fb\.\d\.\d{10,13}\.[^.\s]+(\.\S+)?$/)
      assert.ok(!Object.values(resolved.clickIds).some(value => /[@+\s]/.test(value)))
    }),
    { numRuns: 1_000 },
  )
})
