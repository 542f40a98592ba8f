import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsentState } from './consent-reading.ts'
import { combineConsentStates } from './consent-table.ts'
import vectors from './vectors/consent-decision-table.json' with { type: 'json' }

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

  it('is tested on all 27 combinations, each once', () => {
    const rows = new Set(vectors.map(row => `${row.consent} ${row.tcf} ${row.consent_mode}`))
    assert.equal(rows.size, 27)
  })
})

type Inputs = Pick<(typeof vectors)[number], 'consent' | 'tcf' | 'consent_mode'>
