import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { META_CONSENT_NEEDS } from '../platforms/meta/client.ts'
import { decideConsent } from './consent-decision.ts'

const AT = new Date('2026-11-21T12:00:00Z')

/** Refusals that have happened, and when, as systems and people write it. */
const HAPPENED = [
  ...['withdrawn', 'revoked', 'opted out', 'opt out', 'consent revoked', 'consent withdrawal'],
  ...['advertising revoked', 'ads declined', 'marketing refused', 'tracking opt out', 'rejected'],
  ...['ads consent withdrawn', 'sale opt out', 'targeting disabled', 'Werbung abgelehnt'],
]
const ENDINGS = ['at', 'on', 'date', 'time', 'timestamp', 'at utc', 'requested at']
const TIMES = [
  ...['2026-11-20T10:00:00Z', '2026-11-20', '2026-11-20 10:00:00', '20.11.2026', '11/20/2026'],
  ...['Fri, 20 Nov 2026 10:00:00 GMT', 1_795_168_800, 1_795_168_800_000, '1795168800'],
]
/** 10.11.2026 may be in October. */
const UNKNOWN_DAYS: unknown[] = ['20.11.2026']
/** Of the consent. A refusal without a time of the day may be of its last moment. */
const BEFORE = '2026-11-19T23:00:00Z'
const AFTER = '2026-11-21T10:00:00Z'
const IN_FUTURE = '2026-11-22T10:00:00Z'
const NO_TIMES = [null, '', 0, '0', '0000-00-00 00:00:00', '1970-01-01T00:00:00Z', 'never', '-']
const CHANNELS = ['email', 'sms', 'push', 'phone', 'newsletter']

const write = fc.constantFrom(
  (words: string) => words.replaceAll(' ', '_'),
  (words: string) => words.replaceAll(' ', '-'),
  (words: string) => words.replace(/ ([a-z])/g, (_space, letter) => letter.toUpperCase()),
)

function nameOf(...parts: readonly string[][]): fc.Arbitrary<string> {
  const words = fc.tuple(...parts.map(part => fc.constantFrom(...part)))
  return fc.tuple(write, words).map(([style, chosen]) => style(chosen.join(' ')))
}

function decide(consent: Record<string, unknown>): string {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', consent } as const
  const times = { receivedAt: AT, eventTime: AT, identityPresent: true }
  return decideConsent(inputs, { needs: META_CONSENT_NEEDS, ...times }).outcome
}

it('the time of a refusal withholds an event, under any name and in any notation', () => {
  fc.assert(
    fc.property(nameOf(HAPPENED, ENDINGS), fc.constantFrom(...TIMES), (name, time) => {
      assert.equal(decide({ advertising: 'granted', [name]: time }), 'withheld', name)
      assert.equal(decide({ [name]: time, captured_at: BEFORE, ads: true }), 'withheld', name)
    }),
    { numRuns: 2_000 },
  )
})

it('a time in `…_at` is history if the consent was captured later', () => {
  fc.assert(
    fc.property(nameOf(HAPPENED, ['at']), fc.constantFrom(...TIMES), (name, time) => {
      const later = UNKNOWN_DAYS.includes(time) ? 'withheld' : 'granted'
      assert.equal(decide({ [name]: time, captured_at: AFTER, ads: true }), later, name)
      assert.equal(decide({ [name]: time, captured_at: IN_FUTURE, ads: true }), 'withheld', name)
    }),
    { numRuns: 500 },
  )
})

it('a refusal without a time, and one of a channel, take no grant away', () => {
  fc.assert(
    fc.property(nameOf(HAPPENED, ENDINGS), fc.constantFrom(...NO_TIMES), (name, time) => {
      assert.equal(decide({ advertising: 'granted', [name]: time }), 'granted', name)
    }),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(nameOf(CHANNELS, ['opt out at', 'withdrawn on']), name => {
      assert.equal(decide({ advertising: 'granted', [name]: TIMES[0] }), 'granted', name)
    }),
  )
})
