import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MATCH_KEYS } from '../platforms/meta/payload.ts'
import type { KeyQuality } from '../platforms/platform.ts'
import { computeMatchCoverage } from './match-quality.ts'
import { buildMatchAdvice } from './match-quality-advice.ts'

const ALL = {
  em: 100,
  ph: 100,
  fbc: 10,
  external_id: 100,
  fbp: 100,
  client_ip_address: 100,
  client_user_agent: 100,
  fn: 100,
  ln: 100,
  zp: 100,
  ct: 100,
  st: 100,
  country: 100,
}

/** The number of events, of a hundred, that have each key. */
function advise(keys: Record<string, number>, seen: KeyQuality[] = [], eventName = 'Purchase') {
  const events = [{ eventName, score: 5, eventCount: null, keys: seen }]
  return buildMatchAdvice(
    events,
    computeMatchCoverage([{ eventName, events: 100, keys }]),
    MATCH_KEYS,
  )
}

function seenKey(key: string, coveragePercent: number, possibleGainPercent: number | null = null) {
  return { key, coveragePercent, possibleGainPercent }
}

it('recommends the missing key with the highest weight and how to send it', () => {
  assert.deepEqual(advise({ ...ALL, em: 0, ph: 0 }), [
    {
      event_name: 'Purchase',
      key: 'em',
      kind: 'send_more',
      sentence:
        'Purchase: send `user_data.em` with more events; now none has it, ' +
        'and of the missing keys it usually improves the match most.',
      possible_gain_percent: null,
    },
  ])
  assert.equal(advise({ ...ALL, ph: 12 })[0]?.key, 'ph')
  assert.match(advise({ ...ALL, ph: 12 })[0]?.sentence ?? '', /now 12 % have it/)
  assert.match(advise({ ...ALL, fbc: 0 })[0]?.sentence ?? '', /`event_source`/)
})

it('prefers the key with the largest gain according to the platform', () => {
  const seen = [seenKey('em', 0, 2), seenKey('client_user_agent', 100), seenKey('fbp', 3, 8.5)]
  const [advice] = advise({ ...ALL, em: 0, fbp: 3 }, seen)
  assert.equal(advice?.key, 'fbp')
  assert.equal(advice?.possible_gain_percent, 8.5)
  assert.match(advice?.sentence ?? '', /expects up to 8\.5 % more matched conversions/)
})

it('gives no advice for complete keys or for names of other senders', () => {
  assert.deepEqual(advise(ALL), [])
  const events = [{ eventName: 'Lead', score: 5, eventCount: null, keys: [] }]
  assert.deepEqual(buildMatchAdvice(events, [], MATCH_KEYS), [])
})

it('reports a key that is lost on the way to the platform', () => {
  const [lost] = advise({ ...ALL, em: 95 }, [seenKey('em', 40), seenKey('ph', 81)])
  assert.equal(lost?.kind, 'lost_on_the_way')
  assert.equal(lost?.key, 'em')
  assert.match(lost?.sentence ?? '', /95 % of our events carried em, .* sees it in 40 %/)
  assert.equal(advise({ ...ALL, em: 95 }, [seenKey('em', 75)]).length, 1)
  assert.deepEqual(advise({ ...ALL, em: 95 }, [seenKey('em', 76)]), [])
})

it('does not compare fewer than twenty events', () => {
  const events = [{ eventName: 'Lead', score: 5, eventCount: null, keys: [seenKey('em', 0)] }]
  const coverage = computeMatchCoverage([
    { eventName: 'Lead', events: 19, keys: { ...ALL, em: 19 } },
  ])
  assert.ok(
    buildMatchAdvice(events, coverage, MATCH_KEYS).every(({ kind }) => kind === 'send_more'),
  )
})

it('reduces an event name to one short line', () => {
  const name = `a\u0000b\nc\u2028d\ud800${'e'.repeat(200)}`
  const [advice] = advise({ em: 0, ph: 1 }, [], name)
  assert.match(advice?.sentence ?? '', /^a b c d e{52}: send /)
  assert.equal(advice?.event_name, name)
})

it('lists Purchase first, then up to fifty names by number of events', () => {
  const ours = Array.from({ length: 60 }, (_, index) => ({
    eventName: `Event${index}`,
    events: index + 1,
    keys: { em: 1 },
  }))
  ours.push({ eventName: 'Purchase', events: 3, keys: { em: 2 } })
  const names = computeMatchCoverage(ours).map(({ event_name }) => event_name)
  assert.deepEqual(names.slice(0, 3), ['Purchase', 'Event59', 'Event58'])
  assert.equal(names.length, 50)
})

it('rounds shares down to a tenth but never to 0', () => {
  const ours = [{ eventName: 'Lead', events: 100_000, keys: { em: 99_999, ph: 1, fbc: 0 } }]
  assert.deepEqual(computeMatchCoverage(ours)[0]?.keys, { em: 99.9, ph: 0.1, fbc: 0 })
})

it('omits names that were counted without keys', () => {
  assert.deepEqual(computeMatchCoverage([{ eventName: 'Lead', events: 5, keys: {} }]), [])
})
