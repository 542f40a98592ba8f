import { meetsMatchingFloor } from '../identity/match-floor.ts'
import type { EventDraft } from '../ingestion/event-draft.ts'

const DROPPED_NAMED_MAX = 5
const DAY_MILLISECONDS = 86_400_000

export interface MessageGrounds {
  /** The body had no `consent_basis`, and consent was taken for it. */
  isBasisAssumed: boolean
}

/**
 * What production would do with a valid event, and why: for whoever wires up a shop. It names
 * places and reasons, never a value that was sent.
 */
export function eventMessage(draft: EventDraft, { isBasisAssumed }: MessageGrounds): string {
  return [
    isBasisAssumed ? BASIS_ASSUMED : 'Valid.',
    fateSentence(draft),
    ageSentence(draft),
    hashedSentence(draft),
    droppedSentence(draft),
    unknownSentence(draft),
    ...draft.decision.warnings.map(({ message }) => `Warning: ${message}`),
    'Nothing was stored or sent.',
  ]
    .filter(text => text !== '')
    .join(' ')
}

const BASIS_ASSUMED =
  'Valid, with consent_basis "consent" assumed: production refuses an event without it.'

function fateSentence(draft: EventDraft): string {
  const { decision } = draft
  switch (decision.outcome) {
    case 'granted':
      return isMatchable(draft)
        ? "Production would store it and deliver it to the tracker's destinations."
        : 'Production would store it, but as it stands a platform would refuse it: its user_data ' +
            'holds too little to match a person, so add an e-mail, phone or external_id.'
    case 'withheld':
      return (
        'Production would store it and deliver it nowhere: of its consent signals ' +
        `(${signalsOf(draft)}) none can be read as granted.`
      )
    case 'ledger_only':
      return 'Production would keep it in the ledger and deliver it nowhere.'
    // Refused before there is a draft.
    case 'denied':
      return ''
  }
}

/** The keys with which a delivery goes out, but for a click that an earlier visit has left. */
function isMatchable({ digests, plain, clickIds }: EventDraft): boolean {
  const cookies = ['fbc', 'fbp'].filter(name => Object.hasOwn(clickIds, name))
  return meetsMatchingFloor([...Object.keys(digests), ...Object.keys(plain), ...cookies])
}

function signalsOf({ decision }: EventDraft): string {
  return Object.values(decision.inputs)
    .filter(({ why }) => why !== 'no_signal')
    .map(({ field }) => field)
    .join(', ')
}

/** How old an event may be is the platform's to say, and no platform is asked here. */
function ageSentence({ decision, eventTime, receivedAt }: EventDraft): string {
  const days = Math.floor((receivedAt.getTime() - eventTime.getTime()) / DAY_MILLISECONDS)
  if (decision.outcome !== 'granted' || days < 1) return ''
  return (
    `Its event_time is ${counted(days, 'day')} back: where a platform takes no event of that ` +
    'age, the delivery expires.'
  )
}

function hashedSentence({ digests }: EventDraft): string {
  const count = Object.values(digests).flat().length
  return count === 0 ? '' : `${counted(count, 'identifier')} would be hashed.`
}

function droppedSentence({ notes: { dropped } }: EventDraft): string {
  if (dropped.length === 0) return ''
  const named = dropped
    .slice(0, DROPPED_NAMED_MAX)
    .map(({ field, reason }) => `${field} (${reason.replace(/\.$/, '')})`)
  const rest = dropped.length - named.length
  return `Left out: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`
}

function unknownSentence({ notes: { unknownMembers } }: EventDraft): string {
  return unknownMembers.length === 0 ? '' : `Ignored: ${unknownMembers.join(', ')}.`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
