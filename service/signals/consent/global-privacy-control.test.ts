import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsentSignal } from './consent-signal.ts'
import { readGlobalPrivacyControl } from './platform-consent.ts'
import { readConsent } from './read-consent.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')

describe('readGlobalPrivacyControl', () => {
  for (const value of [true, 1, '1', 'true']) {
    it(`reads ${JSON.stringify(value)} as an opt-out`, () => {
      assert.equal(readSignal({ gpc: value }), 'denied: gpc_opt_out in consent.gpc')
    })
  }

  it('reads the names of the header and of the browser property', () => {
    assert.equal(readSignal({ 'Sec-GPC': '1' }), 'denied: gpc_opt_out in consent.Sec-GPC')
    const property = { globalPrivacyControl: true }
    assert.equal(readSignal(property), 'denied: gpc_opt_out in consent.globalPrivacyControl')
  })

  it('has no signal for off, null, and junk, and never grants', () => {
    for (const gpc of [false, 0, '0', null, 'unknown', {}]) {
      assert.equal(readSignal({ gpc }), 'unknown: no_signal in consent.gpc')
    }
    assert.equal(readSignal(undefined), 'unknown: no_signal in consent.gpc')
  })

  it('yields to an advertising grant captured more than 5 minutes after the dated signal', () => {
    const consent = { gpc: true, gpc_captured_at: '2026-11-01T00:00:00Z' }
    const later = granted('2026-11-01T00:05:00.001Z')
    assert.equal(readSignal(consent, later), 'unknown: gpc_overruled_by_later_grant in consent.gpc')
    const soon = granted('2026-11-01T00:05:00.000Z')
    assert.equal(readSignal(consent, soon), 'denied: gpc_opt_out in consent.gpc')
  })

  it('does not yield to a grant from a clock that is ahead of the receipt', () => {
    const consent = { gpc: true, gpc_captured_at: '2026-11-21T11:50:00Z' }
    const ahead = granted('2026-11-21T12:00:00.001Z')
    assert.equal(readSignal(consent, ahead), 'denied: gpc_opt_out in consent.gpc')
    const atReceipt = granted('2026-11-21T12:00:00.000Z')
    assert.equal(
      readSignal(consent, atReceipt),
      'unknown: gpc_overruled_by_later_grant in consent.gpc',
    )
  })

  it('does not yield to a grant without proof that it is later', () => {
    const optedOut = 'denied: gpc_opt_out in consent.gpc'
    const dated = { gpc: true, gpc_captured_at: '2026-11-01T00:00:00Z' }
    assert.equal(readSignal({ gpc: true }, granted('2026-11-20T00:00:00.000Z')), optedOut)
    assert.equal(readSignal(dated, granted(null)), optedOut)
    const unreadable = { gpc: true, gpc_captured_at: 'monday' }
    assert.equal(readSignal(unreadable, granted('2026-11-20T00:00:00.000Z')), optedOut)
  })

  it('does not yield to a later consent that grants no advertising', () => {
    const dated = { gpc: true, gpc_captured_at: '2026-11-01T00:00:00Z' }
    const silent = { ...granted('2026-11-20T00:00:00.000Z'), state: 'unknown' as const }
    assert.equal(readSignal(dated, silent), 'denied: gpc_opt_out in consent.gpc')
  })
})

function granted(captured_at: string | null): ConsentSignal {
  return { state: 'granted', why: 'words_granted', field: 'consent.ads', captured_at }
}

function readSignal(consent: Record<string, unknown> | undefined, reading = granted(null)): string {
  const { state, why, field } = readGlobalPrivacyControl(readConsent({ consent }), {
    advertisingConsent: reading,
    receivedAt: RECEIVED_AT,
  })
  return `${state}: ${why} in ${field}`
}
