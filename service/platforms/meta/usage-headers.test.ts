import assert from 'node:assert/strict'
import { it } from 'node:test'
import { usageWaitSeconds } from './usage-headers.ts'

type Usage = Record<string, unknown>

function waitOf(headers: { app?: unknown; business?: unknown; account?: unknown }): number {
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

it('asks for nothing without headers, or while there is room', () => {
  assert.equal(waitOf({}), 0)
  assert.equal(waitOf({ app: { call_count: 28, total_time: 25, total_cputime: 89 } }), 0)
  assert.equal(waitOf({ business: business({ estimated_time_to_regain_access: 0 }) }), 0)
  assert.equal(waitOf({ account: { acc_id_util_pct: 9.67, reset_time_duration: 100 } }), 0)
})

it('reads minutes of a business and seconds of an account', () => {
  assert.equal(waitOf({ business: business({ estimated_time_to_regain_access: 19 }) }), 1_140)
  assert.equal(waitOf({ account: { acc_id_util_pct: 100, reset_time_duration: 150 } }), 150)
})

it('takes the longest of all that is asked', () => {
  const both = { '1': [{ estimated_time_to_regain_access: 2 }], '2': [{ call_count: 100 }] }
  assert.equal(waitOf({ business: both }), 120)
  const account = { acc_id_util_pct: 100, reset_time_duration: 500 }
  assert.equal(waitOf({ business: both, account }), 500)
})

it('slows down from 90 percent on and stays away for a minute at 100', () => {
  for (const name of ['call_count', 'total_time', 'total_cputime']) {
    assert.equal(waitOf({ app: { [name]: 90 } }), 10)
    assert.equal(waitOf({ app: { [name]: 99.9 } }), 10)
    assert.equal(waitOf({ app: { [name]: 100 } }), 60)
    assert.equal(waitOf({ app: { [name]: 250 } }), 60)
  }
  assert.equal(waitOf({ business: business({ total_time: 95 }) }), 10)
  assert.equal(waitOf({ account: { acc_id_util_pct: 92, reset_time_duration: 900 } }), 10)
})

it('never asks for more than a day, whatever a header says', () => {
  for (const minutes of [1e9, 1e300]) {
    assert.equal(
      waitOf({ business: business({ estimated_time_to_regain_access: minutes }) }),
      86_400,
    )
  }
})

it('counts a header that cannot be read as absent', () => {
  for (const odd of ['', 'no json', '[1,2]', 'null', '7', '"text"', '{"a":null}', '{"a":[null]}']) {
    assert.equal(waitOf({ app: odd, business: odd, account: odd }), 0)
  }
  const wrong = { call_count: '100', total_time: -5, estimated_time_to_regain_access: '9' }
  assert.equal(waitOf({ app: wrong, business: business(wrong), account: wrong }), 0)
})
