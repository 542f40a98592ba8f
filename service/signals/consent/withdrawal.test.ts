import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConsentGrant, findWithdrawalReason } from './consent-decision.ts'

const WITHDRAWN_AT = new Date('2026-11-10T09:00:00.000Z')
const RECEIVED_AT = new Date('2026-11-10T12:00:00.000Z')
const ALLOWED = null
const BLOCKED = 'consent_withdrawn'

describe('findWithdrawalReason', () => {
  it('allows any grant of a visitor who never withdrew', () => {
    const never = { bySecret: null, byPage: null, receivedAt: RECEIVED_AT }
    assert.equal(findWithdrawalReason(grant('attested_by_basis', null), never), ALLOWED)
    assert.equal(findWithdrawalReason(grant('granted_by_consent', null), never), ALLOWED)
  })

  it('allows consent captured more than 5 minutes after the withdrawal', () => {
    assert.equal(check('granted_by_consent', '2026-11-10T09:05:00.001Z'), ALLOWED)
    assert.equal(check('granted_by_consent', '2026-11-10T09:05:00.000Z'), BLOCKED)
    assert.equal(check('granted_by_consent', '2026-11-10T09:00:00.001Z'), BLOCKED)
    assert.equal(check('granted_by_consent', '2026-11-10T08:59:59.999Z'), BLOCKED)
  })

  it('blocks consent captured after the receipt of its event, by a clock that runs fast', () => {
    assert.equal(check('granted_by_consent', '2026-11-10T12:00:00.000Z'), ALLOWED)
    assert.equal(check('granted_by_consent', '2026-11-10T12:00:00.001Z'), BLOCKED)
  })

  it('compares times, not text: an offset does not make a consent later', () => {
    assert.equal(check('granted_by_tcf', '2026-11-10T10:30:00+02:00'), BLOCKED)
  })

  it('blocks a grant without a capture time', () => {
    assert.equal(check('granted_by_consent_mode', null), BLOCKED)
  })

  it("blocks the caller's attestation, dated or not", () => {
    assert.equal(check('attested_by_basis', '2026-11-10T11:00:00.000Z'), BLOCKED)
    assert.equal(check('attested_by_basis', null), BLOCKED)
  })

  it('blocks an invalid stored time', () => {
    assert.equal(check('granted_by_consent', 'soon'), BLOCKED)
  })
})

function check(reason: ConsentGrant['reason'], captured_at: ConsentGrant['captured_at']) {
  const times = { bySecret: WITHDRAWN_AT, byPage: null, receivedAt: RECEIVED_AT }
  return findWithdrawalReason(grant(reason, captured_at), times)
}

function grant(
  reason: ConsentGrant['reason'],
  captured_at: ConsentGrant['captured_at'],
): ConsentGrant {
  return { reason, captured_at }
}
