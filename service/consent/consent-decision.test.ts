import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type ConsentInputs, decideConsent } from './consent-decision.ts'
import type { ConsentMoment } from './consent-moment.ts'
import { tcStringForTests } from './tc-string-for-tests.ts'
import vectors from './vectors/consent-decision-table.json' with { type: 'json' }

const MOMENT: ConsentMoment = {
  receivedAt: new Date('2026-11-21T12:00:00Z'),
  eventTime: new Date('2026-11-21T11:59:00Z'),
  identityPresent: true,
}
const RECENT = '2026-11-20T08:00:00Z'

/** One real input for each state of the table. */
const INPUTS: Record<string, Required<Pick<ConsentInputs, 'consent' | 'consent_mode' | 'tcf'>>> = {
  granted: {
    consent: { ad_user_data: 'granted', captured_at: RECENT },
    consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
    tcf: { string: tcStringForTests() },
  },
  denied: {
    consent: { ad_user_data: 'denied', captured_at: RECENT },
    consent_mode: { ad_storage: 'denied', ad_user_data: 'granted' },
    tcf: { string: tcStringForTests({ purposes: [1] }) },
  },
  unknown: {
    consent: { ad_user_data: 'pending', captured_at: RECENT },
    consent_mode: { ad_storage: 'granted' },
    tcf: { string: 'not a string of the framework' },
  },
}

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
        consent: INPUTS[consent]?.consent,
        tcf: INPUTS[tcf]?.tcf,
        consent_mode: INPUTS[consent_mode]?.consent_mode,
      })
      const stored = row.reason === 'no_signal' ? 'withheld' : row.decision
      assert.equal(decision.outcome, stored)
      assert.equal(decision.reason, row.reason)
      assert.deepEqual(decision.granted_by, row.detail.granted_by)
      assert.deepEqual(decision.denied_by, row.detail.denied_by)
      assert.equal(decision.denied_field, FIELDS[row.detail.denied_by[0] ?? ''] ?? null)
      assert.equal(decision.rules_version, '1')
    })
  }

  it('delivers on the word of the caller when there is no signal at all', () => {
    for (const inputs of [
      {},
      { consent: {}, consent_mode: {}, tcf: {} },
      { consent: { captured_at: RECENT } },
      { consent: { analytics: false }, consent_mode: { analytics_storage: 'denied' } },
      { tcf: { captured_at: RECENT } },
    ]) {
      const { outcome, reason } = decide(inputs)
      assert.deepEqual({ outcome, reason }, { outcome: 'granted', reason: 'attested_by_basis' })
    }
  })

  it('withholds when a signal is there that nobody can read, even beside silence', () => {
    for (const inputs of [
      { consent: { ads: 'oui' } },
      { consent: { ad_user_data: null } },
      { consent_mode: { ad_storage: 'granted' } },
      { tcf: { string: '' } },
      { tcf: { string: tcStringForTests({ created: '2025-01-01' }) } },
      { consent: {}, tcf: { string: 'x' } },
    ]) {
      const { outcome, reason } = decide(inputs)
      assert.deepEqual({ outcome, reason }, { outcome: 'withheld', reason: 'no_signal' })
    }
  })

  it('lets an expired consent neither grant nor deny what another input says', () => {
    const expired = { ads: false, captured_at: '2025-01-01T00:00:00Z' }
    const { outcome, reason, inputs } = decide({
      consent: expired,
      consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
    })
    assert.deepEqual({ outcome, reason }, { outcome: 'granted', reason: 'granted_by_consent_mode' })
    assert.equal(inputs.consent.why, 'consent_expired')
  })

  it('refuses a Global Privacy Control opt-out ahead of the table, and keeps the rest', () => {
    const decision = decide({
      consent: { gpc: true, ads: 'denied' },
      tcf: { string: tcStringForTests() },
    })
    assert.equal(decision.outcome, 'denied')
    assert.equal(decision.reason, 'gpc_opt_out')
    assert.equal(decision.denied_field, 'consent.gpc')
    assert.deepEqual(decision.denied_by, ['gpc_opt_out', 'consent_denied'])
    assert.deepEqual(decision.granted_by, ['tcf'])
  })

  it('delivers when a dated advertising grant came after the dated opt-out', () => {
    const { outcome, inputs } = decide({
      consent: { gpc: true, gpc_captured_at: '2026-11-01T00:00:00Z', ads: 1, captured_at: RECENT },
    })
    assert.equal(outcome, 'granted')
    assert.equal(inputs.gpc.why, 'gpc_overruled_by_later_grant')
  })

  it('is dated by the latest of the inputs that granted, and by no other', () => {
    const later = { string: tcStringForTests(), captured_at: '2026-11-21T00:00:00Z' }
    const both = decide({ consent: { ads: true, captured_at: RECENT }, tcf: later })
    assert.equal(both.captured_at, '2026-11-21T00:00:00.000Z')
    const unreadable = { ...later, string: tcStringForTests({ policyVersion: 2 }) }
    const one = decide({ consent: { ads: true, captured_at: RECENT }, tcf: unreadable })
    assert.equal(one.captured_at, '2026-11-20T08:00:00.000Z')
    assert.equal(decide({ consent: { ads: true } }).captured_at, null)
  })

  it('carries the warnings of an event that it lets in, and none of one that it refuses', () => {
    const captured_at = 'yesterday'
    assert.equal(decide({ consent: { ads: true, captured_at } }).warnings.length, 1)
    assert.equal(decide({ consent: { ads: 'oui', captured_at } }).warnings.length, 1)
    assert.equal(decide({}).warnings.length, 1)
    assert.deepEqual(decide({ consent: { ads: false, captured_at } }).warnings, [])
  })

  it('takes lists and other shapes in the place of the objects as absent', () => {
    const wrong = { consent: [], consent_mode: null, tcf: 'CQ' } as unknown as ConsentInputs
    assert.equal(decide(wrong).reason, 'attested_by_basis')
  })
})

describe('decideConsent for events that stay in the ledger', () => {
  it('keeps legitimate interest in the ledger without reading or warning of anything', () => {
    const decision = decideConsent(
      {
        event_name: 'signal_verification',
        consent_basis: 'legitimate_interest',
        consent: { ads: false, captured_at: 'never' },
      },
      MOMENT,
    )
    assert.equal(decision.outcome, 'ledger_only')
    assert.equal(decision.reason, 'legitimate_interest')
    assert.equal(decision.inputs.consent.why, 'not_read')
    assert.deepEqual(decision.warnings, [])
  })

  it('never delivers a withdrawal, and never refuses one for the refusal it carries', () => {
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
  it('never throws, never delivers against a refusal, always names the field it refuses on', () => {
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
})

const name = fc.constantFrom(
  ...['ad_storage', 'adUserData', 'ad_personalization', 'marketing', 'status', 'purposes', 'gpc'],
  ...['gpc_captured_at', 'captured_at', 'string', 'tcString', 'analytics', '__proto__', 'toString'],
)
const word = fc.constantFrom<unknown>(
  ...['granted', 'denied', 'maybe', true, false, null, 1, 0, RECENT, '2020-01-01T00:00:00Z'],
  ...[tcStringForTests(), tcStringForTests({ purposes: [] }), {}, [], { ads: false }, { ads: 1 }],
)
const anything = fc
  .array(fc.tuple(name, word), { maxLength: 5 })
  .map((entries): Record<string, unknown> => Object.fromEntries(entries))

function decide(inputs: Partial<ConsentInputs>) {
  return decideConsent({ event_name: 'Purchase', consent_basis: 'consent', ...inputs }, MOMENT)
}
