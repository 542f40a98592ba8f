import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { MatchAssessment } from './match-quality.ts'
import { evaluateMatchAlerts } from './match-quality-advice.ts'

const FINE: MatchAssessment = {
  score: '6.2',
  weekOverWeekChange: '0.1',
  hasFallen: false,
  isLow: false,
}

function alertsOf(changes: Partial<MatchAssessment>, before = {}, now = {}) {
  return evaluateMatchAlerts({
    scoreMin: '4',
    assessment: { ...FINE, ...changes },
    coverage: [{ event_name: 'Purchase', events: 50, keys: now }],
    coverageBefore: [{ event_name: 'Purchase', events: 50, keys: before }],
  })
}

const FALLEN = { score: '5.0', weekOverWeekChange: '-1.2', hasFallen: true }

it('resolves both alerts for a good score', () => {
  assert.deepEqual(alertsOf({}), { raised: [], resolved: ['emq_fell', 'emq_low'] })
})

it('keeps the alert about a fall without an earlier snapshot', () => {
  const alerts = alertsOf({ weekOverWeekChange: null, hasFallen: null })
  assert.deepEqual(alerts, { raised: [], resolved: ['emq_low'] })
})

it('names the key with the largest drop when the score fell', () => {
  const { raised, resolved } = alertsOf(FALLEN, { em: 95, ph: 60, fbp: 90 }, { em: 40, fbp: 88 })
  assert.deepEqual(resolved, ['emq_low'])
  assert.deepEqual(raised, [
    {
      kind: 'emq_fell',
      sentence:
        'The event match quality fell by 1.2 to 5.0 within a week. ' +
        'Fewer events have ph than a week ago, 0 % instead of 60 %: send it again.',
      details: { score: '5.0', week_over_week_change: '-1.2' },
    },
  ])
})

it('points to other senders when our coverage is unchanged', () => {
  const [alert] = alertsOf(FALLEN, { em: 95 }, { em: 90 }).raised
  assert.match(alert?.sentence ?? '', /look at other senders/)
})

it('raises both alerts when the score fell below 4.0', () => {
  const { raised, resolved } = alertsOf({ ...FALLEN, score: '3.9', isLow: true })
  assert.deepEqual(
    raised.map(({ kind }) => kind),
    ['emq_fell', 'emq_low'],
  )
  assert.deepEqual(resolved, [])
  assert.match(raised[1]?.sentence ?? '', /is 3\.9, .* follow the advice/)
})
