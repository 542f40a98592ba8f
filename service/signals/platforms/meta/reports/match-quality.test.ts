import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseMatchQuality, QUALITY_FIELDS } from './client.ts'

function read(...web: unknown[]) {
  return parseMatchQuality({ web }, 'token-of-the-test')
}

function entry(quality: unknown, event_name: unknown = 'Purchase') {
  return { event_name, event_match_quality: quality }
}

it('reads the example response of the documentation', () => {
  const quality = {
    composite_score: 6.2,
    match_key_feedback: [
      { identifier: 'email', coverage: { percentage: 100 } },
      {
        identifier: 'ip_address',
        coverage: { percentage: 99.9 },
        potential_aly_acr_increase: { percentage: 4.5 },
      },
    ],
    diagnostics: [{ name: 'x', percentage: 59.5, total_event_count: 31_830 }],
  }
  assert.deepEqual(read(entry(quality))?.events, [
    {
      eventName: 'Purchase',
      score: 6.2,
      keys: [
        { key: 'em', coveragePercent: 100, possibleGainPercent: null },
        { key: 'client_ip_address', coveragePercent: 99.9, possibleGainPercent: 4.5 },
      ],
      eventCount: 31_830,
    },
  ])
})

it('requires only a score', () => {
  const bare = { eventName: 'Purchase', score: 4, keys: [], eventCount: null }
  const wholes = [
    { composite_score: 4 },
    { composite_score: '4.0', match_key_feedback: null, diagnostics: {} },
    { composite_score: 4, match_key_feedback: [null, {}, { identifier: 'email' }] },
    { composite_score: 4, diagnostics: [{ total_event_count: -1 }, { total_event_count: 1.5 }] },
  ]
  for (const quality of wholes) assert.deepEqual(read(entry(quality))?.events, [bare])
})

it('omits an event name without a score, and keeps it in the stored response', () => {
  const result = read(entry(undefined), entry({}), entry({ composite_score: null }), {
    event_name: 'a',
  })
  assert.deepEqual(result?.events, [])
  assert.ok(Array.isArray(result?.answer.web) && result.answer.web.length === 4)
})

it('rejects scores outside 0 to 10, and repeated or empty event names', () => {
  for (const composite_score of [-0.1, 10.1, 'high', '', true, [], Number.NaN])
    assert.equal(read(entry({ composite_score })), null)
  const good = entry({ composite_score: 10 })
  assert.equal(read(good, good), null)
  assert.equal(read(entry({ composite_score: 1 }, '')), null)
  assert.equal(read(null), null)
  assert.equal(parseMatchQuality({ web: {} }, ''), null)
})

it('stores the response without NUL and without the token', () => {
  const text = 'a\\u0000 \\ud800 token-of-the-test'
  const json = `{"web":[],"__proto__":{"a":1},"note":"${text}","list":[{"token-of-the-test":1}]}`
  const { answer } = parseMatchQuality(JSON.parse(json), 'token-of-the-test') ?? {}
  const redacted = '"note":"a\uFFFD \uFFFD [redacted]","list":[{"[redacted]":1}]'
  assert.equal(JSON.stringify(answer), `{"web":[],"__proto__":{"a":1},${redacted}}`)
})

it('truncates a response that is nested too deeply', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`)
  const result = parseMatchQuality({ web: [], deep }, '')
  assert.ok(JSON.stringify(result?.answer).length < 300)
})

it('requests fields with balanced braces', () => {
  assert.match(QUALITY_FIELDS, /^web\{event_name,event_match_quality\{composite_score,match_key/)
  const depth = [...QUALITY_FIELDS].reduce(
    (open, sign) => open + (sign === '{' ? 1 : sign === '}' ? -1 : 0),
    0,
  )
  assert.equal(depth, 0)
})
