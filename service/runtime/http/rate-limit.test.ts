import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { consumeRateLimit, createRateLimit, RateLimiter } from './rate-limit.ts'

function limitUnderTest(rate: { perSecond: number; burst: number }) {
  const clock = { seconds: 100 }
  const refused: string[] = []
  const limit = createRateLimit({
    ...rate,
    name: 'thing',
    message: 'Wait.',
    onRefused: () => refused.push('thing'),
    monotonicSeconds: () => clock.seconds,
  })
  const take = () => {
    const headers: Record<string, string> = {}
    const header = (name: string, value: string) => {
      headers[name] = value
    }
    const refusal = consumeRateLimit(limit, 'a', { header })
    return { headers: { ...headers, ...refusal?.headers }, refusal }
  }
  return { clock, take, refused }
}

it('announces policy and remainder as draft 11 specifies', () => {
  const { take } = limitUnderTest({ perSecond: 1_000, burst: 2_000 })
  const { headers, refusal } = take()
  assert.equal(refusal, null)
  assert.deepEqual(headers, {
    'ratelimit-policy': '"thing";q=2000;w=2',
    ratelimit: '"thing";r=1999;t=2',
  })
})

it('never announces more per second than the rate', () => {
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

it('returns 429 with Retry-After in whole seconds and accepts the retry', () => {
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

function limiterAt(options: { perSecond: number; burst: number; keysMax?: number }) {
  const clock = { seconds: 12_345.678 }
  const limiter = new RateLimiter({ ...options, monotonicSeconds: () => clock.seconds })
  const takeMany = (key: string, count: number) => {
    const waits = Array.from({ length: count }, () => limiter.take(key).waitSeconds)
    return waits.filter(wait => wait === 0).length
  }
  return { clock, limiter, takeMany }
}

it('allows the burst immediately, then the refill rate', () => {
  const { clock, limiter, takeMany } = limiterAt({ perSecond: 1_000, burst: 2_000 })
  assert.equal(takeMany('a', 2_500), 2_000)
  clock.seconds += 0.1
  assert.equal(takeMany('a', 2_500), 100)
  clock.seconds += 60
  assert.equal(takeMany('a', 2_500), 2_000)
  assert.equal(limiter.peek('a').waitSeconds > 0, true)
})

it('counts down the remainder and returns the wait for the next request', () => {
  const { clock, limiter } = limiterAt({ perSecond: 0.5, burst: 2 })
  assert.deepEqual(limiter.take('a'), { remaining: 1, waitSeconds: 0 })
  assert.deepEqual(limiter.take('a'), { remaining: 0, waitSeconds: 0 })
  assert.deepEqual(limiter.take('a'), { remaining: 0, waitSeconds: 2 })
  clock.seconds += 1
  assert.deepEqual(limiter.take('a'), { remaining: 0, waitSeconds: 1 })
  clock.seconds += 1
  assert.deepEqual(limiter.take('a'), { remaining: 0, waitSeconds: 0 })
})

it('takes nothing for a refused request or a peek', () => {
  const { clock, limiter, takeMany } = limiterAt({ perSecond: 1, burst: 1 })
  assert.equal(takeMany('a', 100), 1)
  clock.seconds += 1
  for (let look = 0; look < 100; look += 1) assert.equal(limiter.peek('a').waitSeconds, 0)
  assert.equal(takeMany('a', 100), 1)
})

it('keeps keys apart', () => {
  const { takeMany } = limiterAt({ perSecond: 1, burst: 3 })
  assert.equal(takeMany('a', 10), 3)
  assert.equal(takeMany('b', 10), 3)
})

it('is idle only once every bucket is full again', () => {
  const { clock, limiter, takeMany } = limiterAt({ perSecond: 1, burst: 10 })
  assert.equal(takeMany('a', 10), 10)
  for (let second = 0; second < 9; second += 1) {
    clock.seconds += 1
    assert.equal(takeMany('a', 10), 1)
    limiter.take(`other-${second}`)
  }
  assert.equal(limiter.isIdle, false)
  for (const pause of [100, 100]) {
    clock.seconds += pause
    limiter.peek('a')
  }
  assert.equal(limiter.isIdle, true)
})

it('evicts the least recently used key beyond its limit', () => {
  const { takeMany } = limiterAt({ perSecond: 1, burst: 2, keysMax: 100 })
  assert.equal(takeMany('steady', 2), 2)
  assert.equal(takeMany('gone', 2), 2)
  for (let stranger = 0; stranger < 1_000; stranger += 1) {
    takeMany(`stranger-${stranger}`, 1)
    assert.equal(takeMany('steady', 1), 0)
  }
  assert.equal(takeMany('gone', 2), 2)
})

it('never allows more than burst plus rate in any interval', () => {
  const steps = fc.array(fc.record({ pause: fc.nat(3_000), count: fc.nat(30) }), { maxLength: 40 })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 20 }), (moves, burst) => {
      const { clock, takeMany } = limiterAt({ perSecond: 4, burst })
      const passed: { at: number; count: number }[] = []
      for (const { pause, count } of moves) {
        clock.seconds += pause / 1_000
        passed.push({ at: clock.seconds, count: takeMany('a', count) })
      }
      for (const [from, first] of passed.entries()) {
        let sum = 0
        for (const { at, count } of passed.slice(from)) {
          sum += count
          assert.ok(sum <= burst + 4 * (at - first.at) + 1e-3)
        }
      }
    }),
  )
})

it('never refuses a caller within the quota of every window', () => {
  const counts = fc.array(fc.nat(10), { minLength: 2, maxLength: 50 })
  fc.assert(
    fc.property(counts, wanted => {
      const { clock, takeMany } = limiterAt({ perSecond: 5, burst: 10 })
      let before = 0
      for (const count of wanted) {
        // A window is two seconds: this one and the one before.
        const allowed = Math.min(count, 10 - before)
        assert.equal(takeMany('a', allowed), allowed)
        before = allowed
        clock.seconds += 1
      }
    }),
  )
})
