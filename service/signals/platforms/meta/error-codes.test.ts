import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SendOutcome } from '../platform.ts'
import { classifyErrorCode, classifyHttpStatus } from './graph-api.ts'

type Row = [
  code: number,
  subcode: number | null,
  meaning: string,
  outcome: SendOutcome,
  waitSeconds?: number,
]

/**
 * The failure catalogue: what Meta's codes mean and what we do about them (Graph API, Handling
 * Errors; Marketing API, Error Codes and Rate Limiting; for 28040xx what senders have seen).
 */
const CATALOGUE: Row[] = [
  [1, null, 'unknown, possibly downtime', 'retry'],
  [1, 99, 'unknown, wrong level', 'retry'],
  [2, null, 'service temporarily down', 'retry'],
  [3, null, 'app lacks the capability', 'config'],
  [4, null, 'app request limit', 'throttle', 60],
  [4, 1_504_022, 'app request limit', 'throttle', 60],
  [4, 1_504_039, 'app request limit', 'throttle', 60],
  [10, null, 'permission not granted or removed', 'config'],
  [17, null, 'user request limit', 'throttle', 60],
  [17, 2_446_079, 'ad account request limit', 'throttle', 60],
  [32, null, 'page request limit', 'throttle', 60],
  [100, null, 'invalid parameter', 'permanent'],
  [100, 33, 'no such object or no access to it', 'config'],
  [100, 2_804_001, 'event refused, meaning not published', 'permanent'],
  [100, 2_804_003, 'event too old', 'permanent'],
  [100, 2_804_007, 'event refused, meaning not published', 'permanent'],
  [100, 2_804_009, 'purchase without a value', 'permanent'],
  [100, 2_804_016, 'event refused, meaning not published', 'permanent'],
  [100, 2_804_017, 'event refused, meaning not published', 'permanent'],
  [100, 2_804_019, 'event refused, meaning disputed', 'permanent'],
  [100, 2_804_048, 'event refused, meaning not published', 'permanent'],
  [100, 2_804_050, 'customer information missing or too broad', 'permanent'],
  [100, 2_804_099, 'unknown subcode of the same family', 'permanent'],
  [102, null, 'session invalid', 'auth'],
  [104, null, 'signature incorrect', 'config'],
  [190, null, 'token invalid', 'auth'],
  [190, 458, 'app removed', 'auth'],
  [190, 459, 'checkpoint', 'auth'],
  [190, 460, 'password changed', 'auth'],
  [190, 463, 'token expired', 'auth'],
  [190, 464, 'user unconfirmed', 'auth'],
  [190, 467, 'token revoked', 'auth'],
  [190, 492, 'session invalid', 'auth'],
  [200, null, 'permission missing', 'config'],
  [294, null, 'permission ads_management missing', 'config'],
  [299, null, 'permission missing', 'config'],
  [341, null, 'application limit, temporary', 'retry', 600],
  [368, null, 'blocked for policy or abuse', 'retry', 3_600],
  [506, null, 'duplicate post', 'permanent'],
  [613, null, 'custom limit, abuse prevention', 'throttle', 60],
  [613, 1_487_742, 'too many calls from the ad account', 'throttle', 60],
  [613, 5_044_001, 'too many mutations per second', 'throttle', 60],
  [803, null, 'id does not exist', 'config'],
  [2_500, null, 'no active token or a malformed path', 'config'],
  [2_635, null, 'API version no longer served', 'config'],
  [5_000, null, 'unknown', 'retry'],
  [80_000, null, 'limit of insights', 'throttle', 60],
  [80_001, null, 'limit of pages', 'throttle', 60],
  [80_002, null, 'limit of Instagram', 'throttle', 60],
  [80_003, null, 'limit of custom audiences', 'throttle', 60],
  [80_004, null, 'limit of ads management', 'throttle', 60],
  [80_005, null, 'limit of lead forms', 'throttle', 60],
  [80_006, null, 'limit of Messenger', 'throttle', 60],
  [80_007, null, 'business use case limit, not listed', 'throttle', 60],
  [80_008, null, 'limit of WhatsApp', 'throttle', 60],
  [80_009, null, 'limit of catalogs', 'throttle', 60],
  [80_010, null, 'business use case limit, not listed', 'throttle', 60],
  [80_011, null, 'business use case limit, not listed', 'throttle', 60],
  [80_012, null, 'business use case limit, not listed', 'throttle', 60],
  [80_013, null, 'business use case limit, not listed', 'throttle', 60],
  [80_014, null, 'limit of catalog batches', 'throttle', 60],
  [-1, null, 'internal error', 'retry'],
  [-3, 99, 'internal error', 'retry'],
  // Unknown: the platform may have the events, so they are sent again under the same ID.
  [0, null, 'not a code of Meta', 'unknown'],
  [199, null, 'not a code of Meta, just below the permissions', 'unknown'],
  [300, null, 'not a code of Meta, just above the permissions', 'unknown'],
  [9_999, null, 'not a code of Meta', 'unknown'],
  [79_999, null, 'not a code of Meta, just below the limits', 'unknown'],
  [80_015, null, 'not a code of Meta, just above the limits', 'unknown'],
]

for (const [code, subcode, meaning, outcome, waitSecondsMin = 0] of CATALOGUE) {
  const name = subcode === null ? code : `${code}/${subcode}`
  const wait = waitSecondsMin === 0 ? '' : `, wait ${waitSecondsMin} s`
  it(`code ${name}, ${meaning}: ${outcome}${wait}`, () => {
    const found = classifyErrorCode({ code, subcode, isTransient: false })
    assert.deepEqual(found, { outcome, waitSecondsMin })
  })
}

it('codes 200 to 299, each of them a permission: config', () => {
  for (let code = 200; code <= 299; code++) {
    assert.equal(classifyErrorCode({ code, subcode: null, isTransient: false }).outcome, 'config')
  }
})

/** `is_transient`: retry for every code except token errors; throttling codes still throttle. */
for (const [code, subcode, , outcome, waitSecondsMin = 0] of CATALOGUE) {
  const expected = code === 190 ? 'auth' : outcome === 'throttle' ? 'throttle' : 'retry'
  it(`code ${code}${subcode === null ? '' : `/${subcode}`}, is_transient: ${expected}`, () => {
    const found = classifyErrorCode({ code, subcode, isTransient: true })
    assert.deepEqual(found, { outcome: expected, waitSecondsMin })
  })
}

const WITHOUT_CODE: [status: number, meaning: string, SendOutcome, waitSeconds?: number][] = [
  [200, 'empty body', 'unknown'],
  [302, 'redirect', 'unknown'],
  [400, 'rejected by a proxy', 'unknown'],
  [401, 'rejected by a proxy', 'unknown'],
  [403, 'rejected by a proxy', 'unknown'],
  [413, 'body too large', 'permanent'],
  [429, 'too many requests', 'throttle', 60],
  [500, 'broken', 'unknown'],
  [502, 'bad gateway', 'unknown'],
  [503, 'unavailable', 'unknown'],
  [504, 'gateway timeout', 'unknown'],
]

for (const [status, meaning, outcome, waitSecondsMin = 0] of WITHOUT_CODE) {
  const wait = waitSecondsMin === 0 ? '' : `, wait ${waitSecondsMin} s`
  it(`no code, HTTP ${status}, ${meaning}: ${outcome}${wait}`, () => {
    assert.deepEqual(classifyHttpStatus(status), { outcome, waitSecondsMin })
  })
}
