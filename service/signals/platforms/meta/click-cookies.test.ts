import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { DAY_MILLISECONDS } from '../../../runtime/util/time.ts'
import { selectClickIds } from '../../identity/click-ids.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import { joinClickCookies, resolveClickCookies } from './click-cookies.ts'
import { normalizeMetaUserData } from './normalize-identity.ts'

interface Submitted {
  clickIds?: Record<string, unknown>
  userData?: Record<string, unknown>
  eventSource?: string | undefined
  eventTime?: Date
  observedAt: Date
}

/** As acceptance does: first the form of each click ID, then the cookies. */
function resolveClickIds({ clickIds, userData, eventSource, ...times }: Submitted) {
  const { observedAt, eventTime = observedAt } = times
  const selected = selectClickIds(clickIds)
  const submitted = { clickIds: selected.clickIds, userData, eventSource, eventTime, observedAt }
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
  for (const fbc of [`fb.1.1795000000000.${FBCLID}`, `fb.2.1795000000000.${FBCLID}.AQMBAgEA`]) {
    const eventSource = `https://shop.example/?fbclid=${FBCLID}`
    assert.equal(resolveClickIds({ clickIds: { fbc }, eventSource, observedAt }).fbc, fbc)
    assert.equal(resolveClickIds({ userData: { fbc }, eventSource, observedAt }).fbc, fbc)
  }
})

it('replaces the fbc of an earlier click, or of the same letters in another case', () => {
  for (const earlier of ['AnotherClick', FBCLID.toLowerCase()]) {
    const { fbc } = resolveClickIds({
      clickIds: { fbclid: FBCLID },
      userData: { fbc: `fb.1.1795000000000.${earlier}` },
      observedAt,
    })
    assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
  }
})

it('keeps a lone fbc and invents neither fbc nor fbp', () => {
  const fbc = 'fb.1.1795000000000.AbCd'
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
  const fbc = 'fb.1.1795000000000.AbCd'
  const clickIds = { _fbc: fbc, FBC: 'fb.1.1795000000000.Other', gclid: 'one', GCLID: 'two' }
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
    { field: 'click_ids.__proto__', reason: DROP_REASONS.unknown },
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

const minus = (milliseconds: number) => new Date(observedMs - milliseconds)

it('stamps a new fbc with the time of the event when it was received later', () => {
  const eventTime = minus(3 * DAY_MILLISECONDS)
  const { fbc } = resolveClickIds({ clickIds: { fbclid: FBCLID }, eventTime, observedAt })
  assert.equal(fbc, `fb.1.${eventTime.getTime()}.${FBCLID}`)
})

it('stamps a new fbc with the time of receipt when the event is ahead of it', () => {
  const eventTime = minus(-200_000)
  const { fbc } = resolveClickIds({ clickIds: { fbclid: FBCLID }, eventTime, observedAt })
  assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
})

it('corrects an fbc in seconds to milliseconds and keeps the rest of it', () => {
  for (const [given, corrected] of [
    ['fb.1.1795000000.AbCd', 'fb.1.1795000000000.AbCd'],
    ['fb.2.1795000000.AbCd.AQMBAgEA', 'fb.2.1795000000000.AbCd.AQMBAgEA'],
  ] as const) {
    const clickIds = { fbc: given }
    assert.equal(resolveClickIds({ clickIds, observedAt }).fbc, corrected)
    assert.equal(resolveClickIds({ userData: { fbc: given }, observedAt }).fbc, corrected)
    const { dropped } = resolveClickIds({ clickIds, observedAt })
    assert.deepEqual(dropped, [])
  }
})

it('drops a supplied fbc from the future or older than 90 days, and records it', () => {
  const { clickInFuture, clickTooOld } = DROP_REASONS
  const cases = [
    [observedMs + 300_001, clickInFuture],
    [Math.ceil(observedMs / 1_000) + 301, clickInFuture],
    [observedMs - 90 * DAY_MILLISECONDS - 1, clickTooOld],
    [Math.floor(observedMs / 1_000) - 91 * 86_400, clickTooOld],
    [99_999_999_999, clickTooOld],
  ] as const
  for (const [time, reason] of cases) {
    const fbc = `fb.1.${time}.AbCd`
    const resolved = resolveClickIds({ clickIds: { fbc }, observedAt })
    assert.equal(resolved.fbc, null, fbc)
    assert.deepEqual(resolved.dropped, [{ field: 'click_ids.fbc', reason }])
    const times = { eventTime: observedAt, observedAt }
    const { plain, dropped } = normalizeMetaUserData({ fbc }, times)
    assert.deepEqual(plain, {})
    assert.deepEqual(dropped, [{ field: 'user_data.fbc', reason }])
  }
})

it('keeps a supplied fbc at both ends of what is possible', () => {
  for (const time of [observedMs + 300_000, observedMs - 90 * DAY_MILLISECONDS]) {
    const fbc = `fb.1.${time}.AbCd`
    assert.equal(resolveClickIds({ clickIds: { fbc }, observedAt }).fbc, fbc)
  }
})

it('drops a supplied fbc that is later than an event of three days ago', () => {
  const fbc = `fb.1.${observedMs - DAY_MILLISECONDS}.AbCd`
  const resolved = resolveClickIds({
    clickIds: { fbc },
    eventTime: minus(3 * DAY_MILLISECONDS),
    observedAt,
  })
  assert.equal(resolved.fbc, null)
  assert.deepEqual(resolved.dropped, [
    { field: 'click_ids.fbc', reason: DROP_REASONS.clickInFuture },
  ])
})

it('makes a new fbc of the fbclid when the supplied one is from the future', () => {
  const { fbc } = resolveClickIds({
    clickIds: { fbclid: FBCLID, fbc: `fb.1.${observedMs + DAY_MILLISECONDS}.${FBCLID}` },
    observedAt,
  })
  assert.equal(fbc, `fb.1.${observedMs}.${FBCLID}`)
})

it('makes no new click of an old one whose fbclid is still in the URL', () => {
  const { fbc, clickIds } = resolveClickIds({
    userData: { fbc: `fb.1.${observedMs - 100 * DAY_MILLISECONDS}.${FBCLID}` },
    eventSource: `https://shop.example/?fbclid=${FBCLID}`,
    observedAt,
  })
  assert.equal(fbc, null)
  assert.deepEqual(clickIds, { fbclid: FBCLID })
})

const joinAt = (own: Record<string, string>, fbc: string, eventTime = observedAt) =>
  joinClickCookies({ own, seen: [{ fbc }], eventTime })

it('joins the click of an earlier visit with the time at which it was first seen', () => {
  const seen = `fb.1.${observedMs - DAY_MILLISECONDS}.AbCd`
  assert.deepEqual(joinAt({}, seen), { fbc: seen })
  const own = { fbclid: 'AbCd', fbc: `fb.1.${observedMs}.AbCd` }
  assert.deepEqual(joinAt(own, seen), { fbc: seen })
})

it('joins no click that is later than the event or older than 90 days', () => {
  for (const time of [observedMs + 300_001, observedMs - 90 * DAY_MILLISECONDS - 1]) {
    assert.deepEqual(joinAt({}, `fb.1.${time}.AbCd`), {})
  }
})

it('joins a click of the next minutes with the time of the event', () => {
  const joined = joinAt({}, `fb.1.${observedMs + 60_000}.AbCd`)
  assert.deepEqual(joined, { fbc: `fb.1.${observedMs}.AbCd` })
})

it('corrects click IDs that an earlier version stored as they came', () => {
  assert.deepEqual(joinAt({}, 'fb.1.1795000000.AbCd'), { fbc: 'fb.1.1795000000000.AbCd' })
  const own = { fbc: 'fb.1.1795000000.Own' }
  assert.deepEqual(joinAt(own, 'fb.1.1795000000.AbCd'), { fbc: 'fb.1.1795000000000.Own' })
  // Stamped with its receipt, three days after the event.
  const stamped = { fbclid: 'Own', fbc: `fb.1.${observedMs + 3 * DAY_MILLISECONDS}.Own` }
  const joined = joinClickCookies({ own: stamped, seen: [], eventTime: observedAt })
  assert.deepEqual(joined, { fbc: `fb.1.${observedMs}.Own` })
})

it('any input gives an answer, and any fbc in it is well formed', () => {
  const own = ['1795000000000', '1795000000', '1554763741205'].map(at => `fb.1.${at}.${FBCLID}`)
  const text = fc.oneof(fc.string(), fc.constantFrom(FBCLID, FBP, ...own))
  const members = fc.dictionary(
    fc.oneof(fc.constantFrom('fbclid', 'fbc', 'fbp', 'gclid', '__proto__'), fc.string()),
    fc.oneof(fc.jsonValue(), text, fc.array(text)),
  )
  fc.assert(
    fc.property(members, members, text, (clickIds, userData, url) => {
      const eventSource = `https://x.example/?fbclid=${url}`
      const resolved = resolveClickIds({ clickIds, userData, eventSource, observedAt })
      if (resolved.fbc !== null) assert.match(resolved.fbc, /^fb\.\d\.\d{13}\.[^.\s]+(\.\S+)?$/)
      assert.ok(!Object.values(resolved.clickIds).some(value => /[@+\s]/.test(value)))
    }),
    { numRuns: 1_000 },
  )
})
