import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import {
  CONSENT_RULES_VERSION,
  type ConsentInputs,
  decideConsent,
  findWithdrawalReason,
} from '../service/signals/consent/consent-decision.ts'
import type { ConsentContext, ConsentState } from '../service/signals/consent/consent-signal.ts'
import recorded from '../service/signals/consent/decision-record.json' with { type: 'json' }
import {
  decideForPlatforms,
  findDecidingField,
} from '../service/signals/consent/platform-decisions.ts'
import tableRows from '../service/signals/consent/vectors/consent-decision-table.json' with {
  type: 'json',
}
import tcfVectors from '../service/signals/consent/vectors/tcf-vectors.json' with { type: 'json' }
import { WEBHOOK_CONSENT_NEEDS } from '../service/signals/platforms/webhook/client.ts'
import { CONSENT_INPUTS, CONSENT_MOMENT, RECENT_CONSENT } from './fixtures/consent-inputs.ts'
import { ALL_NEEDS } from './fixtures/platform-needs.ts'

/**
 * Every stored event names the version of the rules that decided about it. The digests of the
 * decisions are recorded beside that version, so a changed decision cannot keep the version.
 */
const RECORD_PATH = join(import.meta.dirname, '../service/signals/consent/decision-record.json')

const { receivedAt: RECEIVED_AT } = CONSENT_MOMENT

type Members = Partial<ConsentInputs> & Record<string, unknown>
type Case = [members: Members, context?: Partial<ConsentContext>]

/** The rows of the decision table, each without and with Global Privacy Control. */
function tableCases(): Case[] {
  return tableRows.flatMap(({ consent, tcf, consent_mode }): Case[] => {
    const members = {
      consent: CONSENT_INPUTS[consent as ConsentState].consent,
      tcf: CONSENT_INPUTS[tcf as ConsentState].tcf,
      consent_mode: CONSENT_INPUTS[consent_mode as ConsentState].consent_mode,
    } as Members
    return [[members], [{ ...members, gpc: true }], [members, { hasGpcHeader: true }]]
  })
}

/** Events that are only stored, and those whose caller attests consent without a signal. */
const WITHOUT_SIGNALS: Case[] = [
  [{}],
  [{ consent: {} }],
  [{ consent: { captured_at: RECENT_CONSENT, method: 'banner', version: '3' } }],
  [{ tcf: { gdprApplies: false, tcString: '' } }],
  ...['Purchase', 'signal_verification', 'consent_withdrawal'].flatMap((event_name): Case[] => [
    [{ event_name, consent: { ads: false } }],
    [{ event_name, consent_basis: 'legitimate_interest', consent: { ads: false } }],
  ]),
]

/** One name of each kind of member, and words that callers send. */
const MEMBERS = `ad_storage ad_user_data ad_personalization ads advertising marketing targeting
  granted consented status sale_of_data sell_or_share facebook meta opt_out ads_opt_out do_not_sell
  us_privacy gpp gcs gpc sec_gpc categories vendors method version analytics`.split(/\s+/)
const WORDS = [
  ...'granted denied allow deny accepted rejected opt_in opt_out yes no on off true false'.split(
    ' ',
  ),
  ...['1', '0', 'pending', 'UNSPECIFIED', 'oui', '', '1YYN', '1YNN', 'G111', 'G100', 'DBABLA~x'],
  ...[true, false, 1, 0, null, {}, { ads: false }, { facebook: { enabled: false } }],
]

const WORD_CASES: Case[] = MEMBERS.flatMap(name =>
  WORDS.flatMap((word): Case[] => [
    [{ consent: { [name]: word } }],
    [{ consent: { ads: 'granted', [name]: word } }],
    [{ consent_mode: { ad_storage: 'granted', [name]: word } }],
  ]),
)

/** TC strings, alone and with the strings of Google's Additional Consent. */
const TCF_CASES: Case[] = tcfVectors.flatMap(({ tcString }): Case[] => [
  [{ tcf: { string: tcString } }],
  [
    { tcf: { string: tcString, addtl_consent: '2~89~dv.' } },
    { settings: { additionalConsentProvider: 89 } },
  ],
  [
    { tcf: { string: tcString, addtl_consent: '2~1~dv.' } },
    { settings: { additionalConsentProvider: 89 } },
  ],
])

/** Times around each limit: clock tolerance, warning age and expiry. */
const TIMES = [
  ...['2026-11-21T12:00:00Z', '2026-11-21T12:04:59Z', '2026-11-21T12:05:01Z', 'yesterday'],
  ...['2026-05-25T12:00:00Z', '2026-05-24T12:00:00Z', '2025-10-22T12:00:01Z'],
  ...['2025-10-22T11:59:59Z', '2025-10-21T12:00:00Z', null, undefined],
]

const TIME_CASES: Case[] = TIMES.flatMap((captured_at): Case[] => [
  [{ consent: { ads: 'granted', captured_at } }],
  [{ consent: { ads: 'denied', captured_at } }],
  [{ consent: { captured_at }, consent_mode: CONSENT_INPUTS.granted.consent_mode } as Members],
  [
    {
      consent: {
        ads: 'granted',
        captured_at: RECENT_CONSENT,
        gpc: true,
        gpc_captured_at: captured_at,
      },
    },
  ],
])

function decide([members, context]: Case) {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', ...members } as ConsentInputs
  const {
    outcome,
    reason,
    denied_field,
    captured_at,
    possible_refusals,
    inputs: signals,
  } = decideConsent(inputs, {
    ...CONSENT_MOMENT,
    ...context,
  })
  const states = Object.values(signals).map(({ state, why, field }) => [state, why, field])
  return { outcome, reason, denied_field, captured_at, possible_refusals, states }
}

/** The webhook has no name at consent platforms. */
const RECORDED_NEEDS = [...ALL_NEEDS, { name: 'webhook', consentNeeds: WEBHOOK_CONSENT_NEEDS }]

/** One name of each platform, beside a grant and alone. */
const PLATFORM_NAME_CASES: Case[] = [
  ...['facebook', 'Facebook Pixel', 'Google Ads', 'google', 'doubleclick', 'TikTok Pixel'],
  ...['linkedin', 'Microsoft Ads', 'social_media', 'google_analytics', 'ad_personalization'],
].flatMap(name =>
  WORDS.flatMap((word): Case[] => [
    [{ consent: { ads: 'granted', [name]: word } }],
    [{ consent: { vendors: { [name]: word } } }],
    [{ consent_mode: { ad_storage: 'granted', ad_user_data: 'granted', [name]: word } }],
  ]),
)

/** Lists of the vendors that are accepted or rejected, beside a grant. */
const VENDOR_LIST_CASES = [
  { integrations: { All: false, 'Google Ads': true } },
  { integrations: { All: true, 'Google Ads': false } },
  { axeptio_authorized_vendors: ',google_analytics,facebook_pixel,' },
  { accepted_vendors: ['Google Ads'] },
  { rejected_vendors: ['Google Ads'] },
].map((members): Case => [{ consent: { ads: 'granted', ...members } }])

const PLATFORM_CASES = [...PLATFORM_NAME_CASES, ...VENDOR_LIST_CASES]

function decideOfPlatforms([members, context]: Case) {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', ...members } as ConsentInputs
  const { needs: fallback, ...moment } = CONSENT_MOMENT
  const decided = decideForPlatforms(inputs, RECORDED_NEEDS, { ...moment, ...context, fallback })
  return [decided.decision, ...decided.platforms.values()].map(decision => {
    const is_personalized = decision.outcome === 'granted' ? decision.is_personalized : undefined
    return [decision.outcome, decision.reason, findDecidingField(decision), is_personalized]
  })
}

/** Whether a consent overrules a withdrawal, by its reason, its time and the withdrawal. */
function decideWithdrawals() {
  const reasons = ['granted_by_consent', 'granted_by_tcf', 'attested_by_basis'] as const
  return reasons.flatMap(reason =>
    TIMES.flatMap(captured_at =>
      [null, '2026-11-21T11:54:00Z', '2026-11-21T11:58:00Z'].map(withdrawn => {
        const withdrawnAt = withdrawn === null ? null : new Date(withdrawn)
        const grant = { reason, captured_at: captured_at ?? null }
        const times = { bySecret: withdrawnAt, byPage: null, receivedAt: RECEIVED_AT }
        const withdrawal = findWithdrawalReason(grant, times)
        return withdrawal === null ? { allowed: true } : { allowed: false, reason: withdrawal }
      }),
    ),
  )
}

interface DecisionRecord {
  rules_version: string
  digests: Record<string, string>
}

export const RECORDED: DecisionRecord = recorded

/** Decides about every case with the rules as they are now. */
export function decideAll() {
  return {
    table: tableCases().map(decide),
    without_signals: WITHOUT_SIGNALS.map(decide),
    words: WORD_CASES.map(decide),
    tcf: TCF_CASES.map(decide),
    times: TIME_CASES.map(decide),
    withdrawals: decideWithdrawals(),
    platforms: PLATFORM_CASES.map(decideOfPlatforms),
  }
}

/** The record of the rules as they are now. */
export function buildDecisionRecord(): DecisionRecord {
  const digests = Object.entries(decideAll()).map(([name, decisions]) => [
    name,
    // Without members that are undefined, as it would be stored.
    hash('sha256', canonicalJson(JSON.parse(JSON.stringify(decisions)))).slice(0, 16),
  ])
  return { rules_version: CONSENT_RULES_VERSION, digests: Object.fromEntries(digests) }
}

/**
 * Why a record may not replace another: decisions changed under the same version. Null if it may.
 * A group of cases that is new is no change.
 */
export function findUnversionedChange(old: DecisionRecord, now: DecisionRecord): string | null {
  if (old.rules_version !== now.rules_version) return null
  const changed = Object.keys(old.digests).filter(name => old.digests[name] !== now.digests[name])
  if (changed.length === 0) return null
  return (
    `Decisions changed (${changed.join(', ')}) under version ${now.rules_version} of the consent ` +
    'rules. Stored events name the version that decided about them: raise CONSENT_RULES_VERSION ' +
    'in service/signals/consent/consent-decision.ts, run `npm run consent:record`, and describe ' +
    'the change in CHANGELOG.md. Only if no release has this version, or if the cases in ' +
    'testing/consent-decisions.ts changed and not the rules: ' +
    '`npm run consent:record -- --same-version`.'
  )
}

/** `npm run consent:record`. */
function recordDecisions(): void {
  const record = buildDecisionRecord()
  const problem = findUnversionedChange(RECORDED, record)
  if (problem !== null && !process.argv.includes('--same-version')) {
    process.stderr.write(`${problem}\n`)
    process.exitCode = 1
    return
  }
  writeFileSync(RECORD_PATH, `${JSON.stringify(record, null, 2)}\n`)
}

if (import.meta.main) recordDecisions()
