import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { META_CONSENT_NEEDS } from '../platforms/meta/client.ts'
import { type ConsentDecision, type ConsentInputs, decideConsent } from './consent-decision.ts'
import { CONSENT_FORMS, findMeaning, indexCategories, normalizeName } from './consent-forms.ts'
import type { ConsentContext } from './consent-signal.ts'
import variants from './vectors/consent-form-variants.json' with { type: 'json' }
import platformForms from './vectors/consent-platform-forms.json' with { type: 'json' }

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')
const GRANTED = { advertising: 'granted' }
const MODE = { ad_storage: 'granted', ad_user_data: 'granted' }

describe('the table of forms', () => {
  for (const { platform, rows } of CONSENT_FORMS) {
    for (const { says, members, decision } of rows) {
      it(`${platform}: ${says} is ${decision}`, () => {
        const settings = says.endsWith('ID 89') ? { additionalConsentProvider: 89 } : {}
        assert.equal(describeDecision(decide(members, { settings })), decision)
      })
    }
  }

  it('has a grant or a refusal of every platform, and its source', () => {
    for (const { platform, source, rows } of CONSENT_FORMS) {
      assert.match(source, platform === 'Your own banner' ? /^$/ : /^https:\/\//, platform)
      assert.ok(rows.length > 0, platform)
    }
    const names = CONSENT_FORMS.map(({ platform }) => platform)
    assert.equal(new Set(names).size, names.length)
    assert.ok(names.length >= 50)
  })

  it('has each name once, as it is compared', () => {
    const names = CONSENT_FORMS.flatMap(({ names: byMeaning = {} }) =>
      Object.values(byMeaning).flatMap(listed => listed.split(' ')),
    )
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    )
    for (const name of names) assert.equal(normalizeName(name), name)
  })

  it('is what the program reads: a refusal under each name denies beside a grant', () => {
    for (const { names = {} } of CONSENT_FORMS) {
      for (const [meaning, listed] of Object.entries(names)) {
        if (!(meaning in REFUSALS)) continue
        for (const name of listed.split(' ')) {
          const consent = { ...GRANTED, [name]: REFUSALS[meaning as keyof typeof REFUSALS] }
          assert.equal(decide({ consent }).outcome, 'denied', name)
          assert.ok(findMeaning(name).isForm)
        }
      }
    }
  })
})

const REFUSALS = {
  advertising: false,
  ad_storage: 'denied',
  everything: 'rejected',
  sale: 'no',
  tracking: 0,
  social_media: false,
  meta: false,
  opt_out: true,
  sale_opt_out: 1,
  advertising_opt_out: 'yes',
  tracking_opt_out: true,
  gpc: true,
  us_privacy: '1YYN',
  gcs: 'G100',
  gcd: '13p3p3p3p5',
  att: 'denied',
  gpp_opt_out: 1,
  tc_string: buildTcString({ purposes: [1] }),
  tcf_purposes: { 1: true, 7: false },
} as const

/** Forms as consent platforms write them that are not in the table. */
describe('forms that are not in the table', () => {
  it('are refusals beside any grant', () => {
    for (const form of variants.refusals) {
      const consent = { ...GRANTED, ...form }
      assert.notEqual(decide({ consent }).outcome, 'granted', JSON.stringify(consent))
      const beside = decide({ consent: form as ConsentInputs['consent'], consent_mode: MODE })
      assert.notEqual(beside.outcome, 'granted', JSON.stringify(form))
    }
  })

  it('are grants', () => {
    for (const form of variants.grants) {
      assert.equal(decide(form).outcome, 'granted', JSON.stringify(form))
    }
  })

  it('are neither, and take no grant away', () => {
    for (const form of variants.neutral) {
      const consent = { ...GRANTED, ...form }
      assert.equal(decide({ consent }).outcome, 'granted', JSON.stringify(consent))
    }
  })
})

/** Forms of consent platforms, shop systems and SDKs; see `vectors/README.md`. */
describe('forms of more platforms', () => {
  for (const { platform, refusals, grants, neutral } of platformForms) {
    it(`are read as ${platform} means them`, () => {
      for (const form of refusals) {
        for (const members of [{ consent: { ...GRANTED, ...form } }, besideMode(form)]) {
          assert.notEqual(decide(members).outcome, 'granted', JSON.stringify(members))
        }
      }
      for (const consent of grants) {
        assert.equal(decide({ consent }).outcome, 'granted', JSON.stringify(consent))
      }
      for (const form of neutral) {
        for (const members of [{ consent: { ...GRANTED, ...form } }, besideMode(form)]) {
          assert.equal(decide(members).outcome, 'granted', JSON.stringify(members))
        }
      }
    })
  }
})

function besideMode(consent: object) {
  return { consent, consent_mode: MODE }
}

describe("a tracker's own categories", () => {
  const categories = indexCategories({ C0006: 'advertising', C0004: 'other', '97': 'sale' })

  it('replace the groups of the template, in every form', () => {
    for (const groups of ['C0004:0,C0006:1', { C0004: false, C0006: true }]) {
      assert.equal(decide({ consent: { groups } }, { categories }).outcome, 'granted')
      assert.equal(decide({ consent: { groups } }).outcome, 'denied')
    }
    const active = { OnetrustActiveGroups: ',C0001,C0006,' }
    assert.equal(decide({ consent: active }, { categories }).outcome, 'granted')
    const inactive = { ...GRANTED, OnetrustActiveGroups: ',C0001,C0004,' }
    assert.equal(decide({ consent: inactive }, { categories }).outcome, 'denied')
  })

  it('name what is behind a number', () => {
    const consent = { ...GRANTED, consents: { 97: 0 } }
    assert.equal(decide({ consent }).outcome, 'granted')
    assert.equal(decide({ consent }, { categories }).denied_field, 'consent.consents.97')
  })

  it('are null without any known purpose', () => {
    assert.equal(indexCategories({}), null)
    assert.equal(indexCategories({ C0001: 'constructor' }), null)
  })
})

function decide(members: object, context: Partial<ConsentContext> = {}): ConsentDecision {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', ...members } as ConsentInputs
  return decideConsent(inputs, {
    needs: META_CONSENT_NEEDS,
    receivedAt: RECEIVED_AT,
    eventTime: RECEIVED_AT,
    identityPresent: true,
    ...context,
  })
}

/** As the column of the table has it. */
function describeDecision(decision: ConsentDecision): string {
  if (decision.outcome === 'denied') return `422 ${decision.denied_field}`
  if (decision.outcome === 'granted') return decision.reason
  if (decision.reason === 'possible_refusal') return 'withheld possible_refusal'
  const said = Object.values(decision.inputs).find(({ why }) => why !== 'no_signal')
  return `withheld ${said?.why}`
}
