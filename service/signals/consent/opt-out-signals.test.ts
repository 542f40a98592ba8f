import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { type ConsentInputs, decideConsent } from './consent-decision.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')
const GRANTED = { advertising: 'granted' }
const MODE = { ad_storage: 'granted', ad_user_data: 'granted' }
const REFUSED = buildTcString({ purposes: [] })

type Row = [body: Record<string, unknown>, outcome: string, reason: string, field?: string]

/** Every spelling and place of Global Privacy Control. */
const GPC: Row[] = [
  ...['sec-gpc', 'Sec-GPC', 'SEC-GPC', 'gpc', 'GPC', 'secGpc', 'sec_gpc', 'gpcEnabled']
    .concat('gpc_enabled', 'globalPrivacyControl', 'Global Privacy Control')
    .flatMap((name): Row[] => [
      [{ consent: { ...GRANTED, [name]: '1' } }, 'denied', 'gpc_opt_out', `consent.${name}`],
      [
        { consent_mode: { ...MODE, [name]: true } },
        'denied',
        'gpc_opt_out',
        `consent_mode.${name}`,
      ],
      [{ consent: GRANTED, [name]: 1 }, 'denied', 'gpc_opt_out', name],
      [{ [name]: 'true' }, 'denied', 'gpc_opt_out', name],
      [{ consent: { ...GRANTED, [name]: '0' } }, 'granted', 'granted_by_consent'],
      [{ consent: GRANTED, [name]: false }, 'granted', 'granted_by_consent'],
    ]),
  [{ consent_mode: { gpc: true } }, 'denied', 'gpc_opt_out', 'consent_mode.gpc'],
  [{ consent: GRANTED, tcf: { gpc: 1 } }, 'denied', 'gpc_opt_out', 'tcf.gpc'],
]

/** Objects that say something which is neither a grant nor a denial. */
const UNREADABLE: Row[] = [
  { consent: { analytics: 'granted' } },
  { consent: { groups: 'C0001:1,C0004:0' } },
  { consent: { categories: ['necessary'] } },
  { consent: { vendors: { google: true } } },
  { consent: { gpp: 'DBABLA~broken' } },
  { consent: { gpp_string: 'not a GPP string' } },
  { consent: { do_not_sell: 'perhaps' } },
  { consent: { do_not_sell: false } },
  { consent: { us_privacy: '1YNN' } },
  { consent_mode: { analytics_storage: 'granted' } },
  { consent_mode: { gcs: 'G111' } },
  { tcf: { gdprApplies: true } },
  { tcf: { 'euconsent-v2': 'garbage' } },
  { consent: { ...GRANTED, ads_opt_out: 'perhaps' } },
  { consent: { ...GRANTED, gpp: 'garbage' } },
].map((body): Row => [body, 'withheld', 'no_signal'])

const REFUSALS: Row[] = [
  [{ consent: { do_not_sell: true } }, 'denied', 'consent_denied', 'consent.do_not_sell'],
  [{ consent: { us_privacy: '1YYN' } }, 'denied', 'consent_denied', 'consent.us_privacy'],
  [
    { consent: { vendors: { facebook: false } } },
    'denied',
    'consent_denied',
    'consent.vendors.facebook',
  ],
  [{ consent: { ...GRANTED, facebook: false } }, 'denied', 'consent_denied', 'consent.facebook'],
  [
    { consent: { ...GRANTED, ads_opt_out: true } },
    'denied',
    'consent_denied',
    'consent.ads_opt_out',
  ],
  [{ consent: { ...GRANTED, opt_out: true } }, 'denied', 'consent_denied', 'consent.opt_out'],
  [
    { consent: { ...GRANTED, sale_of_data: 'denied' } },
    'denied',
    'consent_denied',
    'consent.sale_of_data',
  ],
  [
    { consent: { do_not_sell: true }, consent_mode: MODE },
    'denied',
    'conflicting_signals',
    'consent.do_not_sell',
  ],
  [{ consent_mode: { gcs: 'G100' } }, 'denied', 'consent_mode_denied', 'consent_mode.gcs'],
  [{ tcf: { 'euconsent-v2': REFUSED } }, 'denied', 'tcf_denied', 'tcf.euconsent-v2'],
]

const OPTED_OUT = 'DBABLA~BVVVVVVVVWA'
const NOT_OPTED_OUT = 'DBABLA~BVVqAAAAAABY.QA'
const GPP: Row[] = [
  [{ consent: { gpp: OPTED_OUT } }, 'denied', 'consent_denied', 'consent.gpp'],
  [
    { consent: { ...GRANTED, gppString: OPTED_OUT } },
    'denied',
    'consent_denied',
    'consent.gppString',
  ],
  [
    { consent: { ...GRANTED, gpp: { string: OPTED_OUT, sid: [7] } } },
    'denied',
    'consent_denied',
    'consent.gpp.string',
  ],
  [
    { consent: { ...GRANTED, gpp: { gppString: OPTED_OUT, applicableSections: [-1] } } },
    'denied',
    'consent_denied',
    'consent.gpp.gppString',
  ],
  [{ consent: GRANTED, gpp: { string: OPTED_OUT } }, 'denied', 'consent_denied', 'gpp.string'],
  [{ gpp_string: OPTED_OUT }, 'denied', 'consent_denied', 'gpp_string'],
  [{ consent: { ...GRANTED, gpp: NOT_OPTED_OUT, gpp_sid: '7' } }, 'granted', 'granted_by_consent'],
  [{ consent: { ...GRANTED, gpp: 'DBAA' } }, 'granted', 'granted_by_consent'],
  [{ consent: { ...GRANTED, gpp: '' } }, 'granted', 'granted_by_consent'],
  [{ consent: { gpp: NOT_OPTED_OUT } }, 'withheld', 'no_signal'],
  [{ consent: { gpp: 'DBAA' } }, 'withheld', 'no_signal'],
  [{ consent: { gpp: `DBABMA~${buildTcString()}` } }, 'granted', 'granted_by_tcf'],
  [{ consent: { gpp: `DBABMA~${REFUSED}` } }, 'denied', 'tcf_denied', 'consent.gpp'],
  [
    { consent: { gpp: `DBABMA~${REFUSED}` }, tcf: { string: buildTcString() } },
    'denied',
    'tcf_denied',
    'consent.gpp',
  ],
  [
    { consent: { ...GRANTED, gpp: NOT_OPTED_OUT }, gpp: OPTED_OUT },
    'denied',
    'consent_denied',
    'gpp',
  ],
]

for (const [title, rows] of Object.entries({
  'Global Privacy Control in any spelling': GPC,
  'objects that cannot be read': UNREADABLE,
  'refusals under names of the opposite polarity': REFUSALS,
  'GPP strings': GPP,
})) {
  describe(title, () => {
    for (const [body, outcome, reason, field = null] of rows) {
      it(`${JSON.stringify(body).slice(0, 90)} is ${outcome}`, () => {
        const decision = decide(body)
        const found = [decision.outcome, decision.reason, decision.denied_field]
        assert.deepEqual(found, [outcome, reason, field])
      })
    }
  })
}

describe('the Sec-GPC header', () => {
  it('denies beside any grant, and names the header', () => {
    for (const body of [{}, { consent: GRANTED }, { consent_mode: MODE }]) {
      const { outcome, reason, denied_field } = decide(body, { hasGpcHeader: true })
      assert.deepEqual([outcome, reason, denied_field], ['denied', 'gpc_opt_out', 'Sec-GPC'])
    }
  })

  it('is as recent as the event, so that no dated consent overrules it', () => {
    const consent = {
      ...GRANTED,
      captured_at: '2026-11-20T00:00:00Z',
      gpc: true,
      gpc_captured_at: '2026-11-01T00:00:00Z',
    }
    assert.equal(decide({ consent }).outcome, 'granted')
    assert.equal(decide({ consent }, { hasGpcHeader: true }).denied_field, 'Sec-GPC')
  })

  it('does not keep a withdrawal out', () => {
    const withdrawal = { event_name: 'consent_withdrawal' }
    assert.equal(decide(withdrawal, { hasGpcHeader: true }).outcome, 'ledger_only')
  })
})

it("does not read Meta's opt_out at the top level as a denial", () => {
  assert.equal(decide({ consent: GRANTED, opt_out: true }).outcome, 'granted')
})

it('stores no name of a caller in the decision', () => {
  const decision = decide({
    consent: { 'jane@example.com': true, vendors: { 'jane@example.com': { x: 1 } } },
    consent_mode: { 'jane@example.com': 'granted' },
    tcf: { 'jane@example.com': 1 },
  })
  assert.doesNotMatch(JSON.stringify(decision), /jane/)
})

function decide(body: Record<string, unknown>, context: { hasGpcHeader?: boolean } = {}) {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', ...body } as ConsentInputs
  const eventTime = RECEIVED_AT
  return decideConsent(inputs, {
    receivedAt: RECEIVED_AT,
    eventTime,
    identityPresent: true,
    ...context,
  })
}
