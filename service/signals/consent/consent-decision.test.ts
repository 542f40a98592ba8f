import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  CONSENT_INPUTS,
  CONSENT_MOMENT,
  RECENT_CONSENT,
} from '../../../testing/fixtures/consent-inputs.ts'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { CONSENT_RULES_VERSION, type ConsentInputs, decideConsent } from './consent-decision.ts'
import type { ConsentState } from './consent-signal.ts'
import { combineConsentStates } from './consent-signals.ts'
import vectors from './vectors/consent-decision-table.json' with { type: 'json' }

const FIELDS: Record<string, string> = {
  consent_denied: 'consent.ad_user_data',
  tcf_denied: 'tcf.string',
  consent_mode_denied: 'consent_mode.ad_storage',
}

describe('decideConsent on the basis of consent', () => {
  for (const row of vectors) {
    const { consent, tcf, consent_mode } = row
    it(`${row.reason}: consent ${consent}, tcf ${tcf}, consent_mode ${consent_mode}`, () => {
      const decision = decide({
        consent: CONSENT_INPUTS[consent as ConsentState].consent,
        tcf: CONSENT_INPUTS[tcf as ConsentState].tcf,
        consent_mode: CONSENT_INPUTS[consent_mode as ConsentState].consent_mode,
      })
      const stored = row.reason === 'no_signal' ? 'withheld' : row.decision
      assert.equal(decision.outcome, stored)
      assert.equal(decision.reason, row.reason)
      assert.deepEqual(decision.granted_by, row.detail.granted_by)
      assert.deepEqual(decision.denied_by, row.detail.denied_by)
      assert.equal(decision.denied_field, FIELDS[row.detail.denied_by[0] ?? ''] ?? null)
      assert.equal(decision.rules_version, CONSENT_RULES_VERSION)
    })
  }

  it('grants by attestation when there is no signal', () => {
    for (const inputs of [
      {},
      { consent: {}, consent_mode: {}, tcf: {} },
      { consent: { captured_at: RECENT_CONSENT } },
      { consent: { method: 'banner', source: 'checkout', version: '3', locale: 'de' } },
      { tcf: { gdprApplies: false, tcString: '' } },
      { tcf: { captured_at: RECENT_CONSENT } },
    ]) {
      const { outcome, reason } = decide(inputs)
      assert.deepEqual({ outcome, reason }, { outcome: 'granted', reason: 'attested_by_basis' })
    }
  })

  it('withholds when a signal is unreadable, even beside absent signals', () => {
    for (const inputs of [
      { consent: { ads: 'perhaps' } },
      { consent: { ad_user_data: null } },
      { consent_mode: { ad_storage: 'granted' } },
      { tcf: { string: '' } },
      { tcf: { string: buildTcString({ created: '2025-01-01' }) } },
      { consent: {}, tcf: { string: 'x' } },
    ]) {
      const { outcome, reason } = decide(inputs)
      assert.deepEqual({ outcome, reason }, { outcome: 'withheld', reason: 'no_signal' })
    }
  })

  it('ignores an expired grant and uses the other inputs', () => {
    const expired = { ads: true, captured_at: '2025-01-01T00:00:00Z' }
    const { outcome, reason, inputs } = decide({
      consent: expired,
      consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
    })
    assert.deepEqual({ outcome, reason }, { outcome: 'granted', reason: 'granted_by_consent_mode' })
    assert.equal(inputs.consent.why, 'consent_expired')
  })

  it('denies on a denial of any age beside a newer grant', () => {
    const { outcome, reason, denied_field } = decide({
      consent: { ads: false, captured_at: '2025-01-01T00:00:00Z' },
      consent_mode: { ad_storage: 'granted', ad_user_data: 'granted', captured_at: RECENT_CONSENT },
    })
    assert.deepEqual({ outcome, reason }, { outcome: 'denied', reason: 'conflicting_signals' })
    assert.equal(denied_field, 'consent.ads')
  })

  it('denies on Global Privacy Control before the decision table and keeps the other details', () => {
    const decision = decide({
      consent: { gpc: true, ads: 'denied' },
      tcf: { string: buildTcString() },
    })
    assert.equal(decision.outcome, 'denied')
    assert.equal(decision.reason, 'gpc_opt_out')
    assert.equal(decision.denied_field, 'consent.gpc')
    assert.deepEqual(decision.denied_by, ['gpc_opt_out', 'consent_denied'])
    assert.deepEqual(decision.granted_by, ['tcf'])
  })

  it('grants when a dated advertising grant is later than the dated opt-out', () => {
    const { outcome, inputs } = decide({
      consent: {
        gpc: true,
        gpc_captured_at: '2026-11-01T00:00:00Z',
        ads: 1,
        captured_at: RECENT_CONSENT,
      },
    })
    assert.equal(outcome, 'granted')
    assert.equal(inputs.gpc.why, 'gpc_overruled_by_later_grant')
  })

  it('uses the latest capture time of the inputs that granted', () => {
    const later = { string: buildTcString(), captured_at: '2026-11-21T00:00:00Z' }
    const both = decide({ consent: { ads: true, captured_at: RECENT_CONSENT }, tcf: later })
    assert.equal(both.captured_at, '2026-11-21T00:00:00.000Z')
    const unreadable = { ...later, string: buildTcString({ policyVersion: 2 }) }
    const one = decide({ consent: { ads: true, captured_at: RECENT_CONSENT }, tcf: unreadable })
    assert.equal(one.captured_at, '2026-11-20T08:00:00.000Z')
    assert.equal(decide({ consent: { ads: true } }).captured_at, null)
  })

  it('returns warnings for an accepted event and none for a denied one', () => {
    const captured_at = 'yesterday'
    assert.equal(decide({ consent: { ads: true, captured_at } }).warnings.length, 1)
    assert.equal(decide({ consent: { ads: 'perhaps', captured_at } }).warnings.length, 1)
    assert.equal(decide({}).warnings.length, 1)
    assert.deepEqual(decide({ consent: { ads: false, captured_at } }).warnings, [])
  })

  it('treats lists and other types as absent objects', () => {
    const wrong = { consent: [], consent_mode: null, tcf: 'CQ' } as unknown as ConsentInputs
    assert.equal(decide(wrong).reason, 'attested_by_basis')
  })
})

describe('decideConsent for events that stay in the ledger', () => {
  it('keeps legitimate interest in the ledger without reading signals or warning', () => {
    const decision = decideConsent(
      {
        event_name: 'signal_verification',
        consent_basis: 'legitimate_interest',
        consent: { ads: false, captured_at: 'never' },
      },
      CONSENT_MOMENT,
    )
    assert.equal(decision.outcome, 'ledger_only')
    assert.equal(decision.reason, 'legitimate_interest')
    assert.equal(decision.inputs.consent.why, 'not_read')
    assert.deepEqual(decision.warnings, [])
  })

  it('keeps a withdrawal in the ledger and never denies it', () => {
    for (const consent of [{}, { ads: true }, { ads: false }]) {
      const withdrawal = { event_name: 'consent_withdrawal', consent }
      const { outcome, reason } = decide(withdrawal)
      assert.deepEqual(
        { outcome, reason },
        { outcome: 'ledger_only', reason: 'consent_withdrawal' },
      )
    }
  })
})

describe('decideConsent on anything at all', () => {
  it('never throws, never grants against a denial, and always names the denied field', () => {
    fc.assert(
      fc.property(anything, anything, anything, (consent, consent_mode, tcf) => {
        const decision = decide({ consent, consent_mode, tcf })
        const states = Object.values(decision.inputs).map(({ state }) => state)
        if (decision.outcome === 'granted') assert.ok(!states.includes('denied'))
        assert.equal(states.includes('denied'), decision.outcome === 'denied')
        assert.equal(
          typeof decision.denied_field,
          decision.outcome === 'denied' ? 'string' : 'object',
        )
        assert.deepEqual(JSON.parse(JSON.stringify(decision)), decision)
      }),
      { numRuns: 1_000 },
    )
  })

  it('makes the same decision for a remembered consent with any capture time', () => {
    const time = fc.date({
      min: new Date('2026-10-01T00:00:00Z'),
      max: CONSENT_MOMENT.receivedAt,
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(plainConsent, plainConsent, time, time, (consent, consent_mode, one, other) => {
        for (const captured_at of [one.toISOString(), other.toISOString()]) {
          const inputs = { consent: { ...consent, captured_at }, consent_mode }
          assert.deepEqual(decide(inputs), decideUnremembered(inputs))
        }
      }),
      { numRuns: 500 },
    )
  })
})

const plainWord = fc.constantFrom('granted', 'denied', 'yes', 'rejected_all', 'Undecided')
const plainConsent = fc.dictionary(
  fc.constantFrom('advertising', 'ad_storage', 'ad_user_data', 'sale_opt_out', 'gpc', 'method'),
  fc.oneof(fc.boolean(), plainWord),
)

/** A tracker with categories of its own, here none, shares nothing with other trackers. */
function decideUnremembered(inputs: Partial<ConsentInputs>) {
  return decideConsent(
    { event_name: 'Purchase', consent_basis: 'consent', ...inputs },
    { ...CONSENT_MOMENT, categories: new Map() },
  )
}

const name = fc.constantFrom(
  ...['ad_storage', 'adUserData', 'ad_personalization', 'marketing', 'status', 'purposes', 'gpc'],
  ...['gpc_captured_at', 'captured_at', 'string', 'tcString', 'analytics', '__proto__', 'toString'],
)
const word = fc.constantFrom<unknown>(
  ...[
    'granted',
    'denied',
    'maybe',
    true,
    false,
    null,
    1,
    0,
    RECENT_CONSENT,
    '2020-01-01T00:00:00Z',
  ],
  ...[buildTcString(), buildTcString({ purposes: [] }), {}, [], { ads: false }, { ads: 1 }],
)
const anything = fc
  .array(fc.tuple(name, word), { maxLength: 5 })
  .map((entries): Record<string, unknown> => Object.fromEntries(entries))

function decide(inputs: Partial<ConsentInputs>) {
  return decideConsent(
    { event_name: 'Purchase', consent_basis: 'consent', ...inputs },
    CONSENT_MOMENT,
  )
}

describe('combineConsentStates', () => {
  for (const row of vectors) {
    const { consent, tcf, consent_mode } = row
    it(`${row.reason}: consent ${consent}, tcf ${tcf}, consent_mode ${consent_mode}`, () => {
      const states = { consent, tcf, consent_mode } as Record<keyof Inputs, ConsentState>
      const { decision, reason, detail } = combineConsentStates(states)
      assert.deepEqual(
        { decision, reason, detail },
        { decision: row.decision, reason: row.reason, detail: row.detail },
      )
    })
  }

  it('covers all 27 combinations, each once', () => {
    const rows = new Set(vectors.map(row => `${row.consent} ${row.tcf} ${row.consent_mode}`))
    assert.equal(rows.size, 27)
  })
})

type Inputs = Pick<(typeof vectors)[number], 'consent' | 'tcf' | 'consent_mode'>
