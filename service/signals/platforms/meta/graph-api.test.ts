import assert from 'node:assert/strict'
import { it } from 'node:test'
import { retryAfterSeconds } from '../client.ts'
import { usageWaitSeconds } from './graph-api.ts'

type Usage = Record<string, unknown>

function waitOfUsage(headers: { app?: unknown; business?: unknown; account?: unknown }): number {
  const texts = new Map(
    Object.entries({
      'x-app-usage': headers.app,
      'x-business-use-case-usage': headers.business,
      'x-ad-account-usage': headers.account,
    })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  return usageWaitSeconds(name => texts.get(name) ?? null)
}

function business(usage: Usage): Usage {
  return { '123456': [{ type: 'ads_management', call_count: 10, ...usage }] }
}

it('returns no wait without headers, or below the limit', () => {
  assert.equal(waitOfUsage({}), 0)
  assert.equal(waitOfUsage({ app: { call_count: 28, total_time: 25, total_cputime: 89 } }), 0)
  assert.equal(waitOfUsage({ business: business({ estimated_time_to_regain_access: 0 }) }), 0)
  assert.equal(waitOfUsage({ account: { acc_id_util_pct: 9.67, reset_time_duration: 100 } }), 0)
})

it('reads minutes for a business and seconds for an account', () => {
  assert.equal(waitOfUsage({ business: business({ estimated_time_to_regain_access: 19 }) }), 1_140)
  assert.equal(waitOfUsage({ account: { acc_id_util_pct: 100, reset_time_duration: 150 } }), 150)
})

it('uses the longest wait', () => {
  const both = { '1': [{ estimated_time_to_regain_access: 2 }], '2': [{ call_count: 100 }] }
  assert.equal(waitOfUsage({ business: both }), 120)
  const account = { acc_id_util_pct: 100, reset_time_duration: 500 }
  assert.equal(waitOfUsage({ business: both, account }), 500)
})

it('slows down from 90 percent, and waits a minute at 100', () => {
  for (const name of ['call_count', 'total_time', 'total_cputime']) {
    assert.equal(waitOfUsage({ app: { [name]: 90 } }), 10)
    assert.equal(waitOfUsage({ app: { [name]: 99.9 } }), 10)
    assert.equal(waitOfUsage({ app: { [name]: 100 } }), 60)
    assert.equal(waitOfUsage({ app: { [name]: 250 } }), 60)
  }
  assert.equal(waitOfUsage({ business: business({ total_time: 95 }) }), 10)
  assert.equal(waitOfUsage({ account: { acc_id_util_pct: 92, reset_time_duration: 900 } }), 10)
})

it('limits the wait of usage headers to one day', () => {
  for (const minutes of [1e9, 1e300]) {
    assert.equal(
      waitOfUsage({ business: business({ estimated_time_to_regain_access: minutes }) }),
      86_400,
    )
  }
})

it('ignores an unreadable header', () => {
  for (const odd of ['', 'no json', '[1,2]', 'null', '7', '"text"', '{"a":null}', '{"a":[null]}']) {
    assert.equal(waitOfUsage({ app: odd, business: odd, account: odd }), 0)
  }
  const wrong = { call_count: '100', total_time: -5, estimated_time_to_regain_access: '9' }
  assert.equal(waitOfUsage({ app: wrong, business: business(wrong), account: wrong }), 0)
})

const DATE = 'Sat, 21 Nov 2026 12:00:00 GMT'

function waitOfRetryAfter(retryAfter: string | null, date: string | null = DATE): number {
  return retryAfterSeconds(name => (name === 'retry-after' ? retryAfter : date))
}

it('reads whole seconds, with or without a Date header', () => {
  for (const date of [DATE, null]) {
    assert.deepEqual(
      [waitOfRetryAfter('120', date), waitOfRetryAfter(' 7 ', date), waitOfRetryAfter('0', date)],
      [120, 7, 0],
    )
  }
})

it('reads all three date formats, relative to the Date of the response', () => {
  assert.equal(waitOfRetryAfter('Sat, 21 Nov 2026 12:02:00 GMT'), 120)
  assert.equal(waitOfRetryAfter('Saturday, 21-Nov-26 12:02:00 GMT'), 120)
  assert.equal(waitOfRetryAfter('Sat Nov 21 12:02:00 2026'), 120)
  assert.equal(waitOfRetryAfter('Sun Nov 22 00:00:00 2026', 'Saturday, 21-Nov-26 23:59:00 GMT'), 60)
})

it('returns no wait when the date is in the past, or without a Date header', () => {
  assert.equal(waitOfRetryAfter('Sat, 21 Nov 2026 11:59:59 GMT'), 0)
  for (const date of [null, '', 'yesterday', '1795262400']) {
    assert.equal(waitOfRetryAfter('Sat, 21 Nov 2026 12:02:00 GMT', date), 0)
  }
})

it('ignores an unreadable header', () => {
  const odd = ['', ' ', '-5', '+5', '1.5', '1e3', '0x10', 'soon', '7 seconds', '2026-11-21', 'Sat']
  for (const text of [null, ...odd, '2026-11-21T12:02:00Z', 'Sat, 99 Nov 2026 12:02:00 GMT']) {
    assert.equal(waitOfRetryAfter(text), 0, String(text))
  }
})

it('limits the wait of Retry-After to one day', () => {
  for (const text of ['86401', '999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    assert.equal(waitOfRetryAfter(text), 86_400)
  }
})
