import assert from 'node:assert/strict'
import { it } from 'node:test'
import { rateLimit, takeFrom } from './rate-limit.ts'

function limitUnderTest(rate: { perSecond: number; burst: number }) {
  const clock = { seconds: 100 }
  const refused: string[] = []
  const limit = rateLimit({
    ...rate,
    name: 'thing',
    sentence: 'Wait.',
    onRefused: () => refused.push('thing'),
    steadySeconds: () => clock.seconds,
  })
  const take = () => {
    const headers: Record<string, string> = {}
    const header = (name: string, value: string) => {
      headers[name] = value
    }
    const refusal = takeFrom(limit, 'a', { header })
    return { headers: { ...headers, ...refusal?.headers }, refusal }
  }
  return { clock, take, refused }
}

it('tells the policy and what is left, in the form of draft 11', () => {
  const { take } = limitUnderTest({ perSecond: 1_000, burst: 2_000 })
  const { headers, refusal } = take()
  assert.equal(refusal, null)
  assert.deepEqual(headers, {
    'ratelimit-policy': '"thing";q=2000;w=2',
    ratelimit: '"thing";r=1999;t=2',
  })
})

it('never promises more a second than the rate', () => {
  for (const rate of [
    { perSecond: 1_000, burst: 2_000 },
    { perSecond: 1, burst: 60 },
    { perSecond: 0.1, burst: 6 },
    { perSecond: 10, burst: 3 },
  ]) {
    const { take } = limitUnderTest(rate)
    for (let request = 0; request < rate.burst; request += 1) {
      const { headers } = take()
      const [, quota, window] =
        /^"thing";q=(\d+);w=(\d+)$/.exec(headers['ratelimit-policy'] ?? '') ?? []
      assert.ok(Number(quota) / Number(window) <= rate.perSecond)
      const [, left, seconds] = /^"thing";r=(\d+);t=(\d+)$/.exec(headers.ratelimit ?? '') ?? []
      assert.equal(Number(left), rate.burst - request - 1)
      assert.ok(Number(seconds) >= 1)
      assert.ok(Number(left) / Number(seconds) <= rate.perSecond)
    }
  }
})

it('429 says in whole seconds when to come again, and then lets the caller in', () => {
  for (const [rate, seconds] of [
    [{ perSecond: 1_000, burst: 1 }, 1],
    [{ perSecond: 1, burst: 1 }, 1],
    [{ perSecond: 0.3, burst: 1 }, 4],
  ] as const) {
    const { clock, take, refused } = limitUnderTest(rate)
    assert.equal(take().refusal, null)
    const { headers, refusal } = take()
    assert.equal(refusal?.status, 429)
    assert.equal(refusal?.message, 'Wait.')
    assert.equal(headers['retry-after'], String(seconds))
    assert.equal(headers.ratelimit, `"thing";r=0;t=${seconds}`)
    assert.ok(headers['ratelimit-policy'])
    assert.deepEqual(refused, ['thing'])
    clock.seconds += seconds
    assert.equal(take().refusal, null)
  }
})
