import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConsentGrant, checkWithdrawal } from './consent-decision.ts'

const WITHDRAWN_AT = new Date('2026-11-10T09:00:00.000Z')
const BLOCKED = { allowed: false, reason: 'consent_withdrawn' }

describe('checkWithdrawal', () => {
  it('allows any grant of a visitor who never withdrew', () => {
    assert.deepEqual(checkWithdrawal(grant('attested_by_basis', null), null), { allowed: true })
    assert.deepEqual(checkWithdrawal(grant('granted_by_consent', null), null), { allowed: true })
  })

  it('allows consent captured after the withdrawal, but not at the same millisecond', () => {
    const verdictAt = (time: string) =>
      checkWithdrawal(grant('granted_by_consent', time), WITHDRAWN_AT)
    assert.deepEqual(verdictAt('2026-11-10T09:00:00.001Z'), { allowed: true })
    assert.deepEqual(verdictAt('2026-11-10T09:00:00.000Z'), BLOCKED)
    assert.deepEqual(verdictAt('2026-11-10T08:59:59.999Z'), BLOCKED)
  })

  it('compares times, not text: an offset does not make a consent later', () => {
    const early = grant('granted_by_tcf', '2026-11-10T10:30:00+02:00')
    assert.deepEqual(checkWithdrawal(early, WITHDRAWN_AT), BLOCKED)
  })

  it('blocks a grant without a capture time', () => {
    assert.deepEqual(checkWithdrawal(grant('granted_by_consent_mode', null), WITHDRAWN_AT), BLOCKED)
  })

  it("blocks the caller's attestation, dated or not", () => {
    const dated = grant('attested_by_basis', '2026-11-20T00:00:00.000Z')
    assert.deepEqual(checkWithdrawal(dated, WITHDRAWN_AT), BLOCKED)
    assert.deepEqual(checkWithdrawal(grant('attested_by_basis', null), WITHDRAWN_AT), BLOCKED)
  })

  it('blocks an invalid stored time', () => {
    assert.deepEqual(checkWithdrawal(grant('granted_by_consent', 'soon'), WITHDRAWN_AT), BLOCKED)
  })
})

function grant(
  reason: ConsentGrant['reason'],
  captured_at: ConsentGrant['captured_at'],
): ConsentGrant {
  return { reason, captured_at }
}
