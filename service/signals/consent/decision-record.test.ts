import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import {
  CONSENT_RULES_VERSION,
  type ConsentInputs,
  checkWithdrawal,
  decideConsent,
} from './consent-decision.ts'
import type { ConsentContext } from './consent-signal.ts'
import recorded from './decision-record.json' with { type: 'json' }
import tableRows from './vectors/consent-decision-table.json' with { type: 'json' }
import tcfVectors from './vectors/tcf-vectors.json' with { type: 'json' }

/**
 * Every stored event names the version of the rules that decided about it. The digests of the
 * decisions are recorded beside that version, so a changed decision cannot keep the version.
 */
const RECORD = 'service/signals/consent/decision-record.json'
const RULES = 'service/signals/consent/consent-decision.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')
const CONTEXT: ConsentContext = {
  receivedAt: RECEIVED_AT,
  eventTime: new Date('2026-11-21T11:59:00Z'),
  identityPresent: true,
}
const RECENT = '2026-11-20T08:00:00Z'

type Members = Partial<ConsentInputs> & Record<string, unknown>
type Case = [members: Members, context?: Partial<ConsentContext>]

const STATES = ['granted', 'denied', 'unknown'] as const
type State = (typeof STATES)[number]

const OBJECTS: Record<State, Record<'consent' | 'consent_mode' | 'tcf', object>> = {
  granted: {
    consent: { ad_user_data: 'granted', captured_at: RECENT },
    consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
    tcf: { string: buildTcString() },
  },
  denied: {
    consent: { ad_user_data: 'denied', captured_at: RECENT },
    consent_mode: { ad_storage: 'denied', ad_user_data: 'granted' },
    tcf: { string: buildTcString({ purposes: [1] }) },
  },
  unknown: {
    consent: { ad_user_data: 'pending', captured_at: RECENT },
    consent_mode: { ad_storage: 'granted' },
    tcf: { string: 'not a string of the framework' },
  },
}

/** The rows of the decision table, each without and with Global Privacy Control. */
function tableCases(): Case[] {
  return tableRows.flatMap(({ consent, tcf, consent_mode }): Case[] => {
    const members = {
      consent: OBJECTS[consent as State].consent,
      tcf: OBJECTS[tcf as State].tcf,
      consent_mode: OBJECTS[consent_mode as State].consent_mode,
    } as Members
    return [[members], [{ ...members, gpc: true }], [members, { hasGpcHeader: true }]]
  })
}

/** Events that are only stored, and those whose caller attests consent without a signal. */
const WITHOUT_SIGNALS: Case[] = [
  [{}],
  [{ consent: {} }],
  [{ consent: { captured_at: RECENT, method: 'banner', version: '3' } }],
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
  [{ consent: { captured_at }, consent_mode: OBJECTS.granted.consent_mode } as Members],
  [{ consent: { ads: 'granted', captured_at: RECENT, gpc: true, gpc_captured_at: captured_at } }],
])

function decide([members, context]: Case) {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', ...members } as ConsentInputs
  const {
    outcome,
    reason,
    denied_field,
    captured_at,
    inputs: signals,
  } = decideConsent(inputs, {
    ...CONTEXT,
    ...context,
  })
  const states = Object.values(signals).map(({ state, why, field }) => [state, why, field])
  return { outcome, reason, denied_field, captured_at, states }
}

/** Whether a consent overrules a withdrawal, by its reason, its time and the withdrawal. */
function decideWithdrawals() {
  const reasons = ['granted_by_consent', 'granted_by_tcf', 'attested_by_basis'] as const
  return reasons.flatMap(reason =>
    TIMES.flatMap(captured_at =>
      [null, '2026-11-21T11:54:00Z', '2026-11-21T11:58:00Z'].map(withdrawn => {
        const withdrawnAt = withdrawn === null ? null : new Date(withdrawn)
        const grant = { reason, captured_at: captured_at ?? null }
        return checkWithdrawal(grant, { withdrawnAt, receivedAt: RECEIVED_AT })
      }),
    ),
  )
}

const DECISIONS: Record<keyof typeof recorded.digests, unknown[]> = {
  table: tableCases().map(decide),
  without_signals: WITHOUT_SIGNALS.map(decide),
  words: WORD_CASES.map(decide),
  tcf: TCF_CASES.map(decide),
  times: TIME_CASES.map(decide),
  withdrawals: decideWithdrawals(),
}

it('a changed decision has a new version of the consent rules', () => {
  const digests = Object.fromEntries(
    Object.entries(DECISIONS).map(([name, decisions]) => [
      name,
      hash('sha256', canonicalJson(JSON.parse(JSON.stringify(decisions)))).slice(0, 16),
    ]),
  )
  const found = { rules_version: CONSENT_RULES_VERSION, digests }
  const changed = Object.keys(digests).filter(
    name => digests[name] !== (recorded.digests as Record<string, string>)[name],
  )
  const isSameVersion = recorded.rules_version === CONSENT_RULES_VERSION
  const advice = isSameVersion
    ? `Decisions changed (${changed.join(', ')}) under version ${CONSENT_RULES_VERSION}. Raise ` +
      `CONSENT_RULES_VERSION in ${RULES}, because stored events name the version that decided ` +
      `about them. Then put this into ${RECORD}, and describe the change in CHANGELOG.md. If ` +
      'only the cases of this test changed, keep the version:'
    : `The consent rules have version ${CONSENT_RULES_VERSION}. Put this into ${RECORD}:`
  assert.deepEqual(recorded, found, `${advice}\n${JSON.stringify(found, null, 2)}\n`)
})

it('the record covers every outcome and every row of the table', () => {
  const outcomes = Object.values(DECISIONS)
    .flat()
    .map(decision => (decision as { outcome?: string }).outcome)
    .filter(outcome => outcome !== undefined)
  assert.deepEqual([...new Set(outcomes)].sort(), ['denied', 'granted', 'ledger_only', 'withheld'])
  assert.equal(DECISIONS.table.length, 3 * tableRows.length)
})
