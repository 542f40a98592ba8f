import { type Decision, decide, type Form, PLATFORMS, type PlatformName } from './consent-facts.ts'
import type { Identification, Person } from './people.ts'

/** An event of the table as it was sent. */
export interface SentEvent {
  eventId: string
  eventName: 'Purchase' | 'Lead' | 'PageView'
  orderId: string | null
  person: Person
  /** Whether the event names the visitor of the person. */
  hasVisitor: boolean
  identification: Identification
  form: Form
  isPage: boolean
  receivedAt: Date
  /** When the person consented, where that may be later than a withdrawal. */
  capturedAt: Date | null
}

export interface Withdrawal {
  at: Date
  person: Person
  /** What names the person: the visitor, or an identifier. */
  by: 'visitor' | 'em' | 'ph' | 'external_id'
  /** Null: all of them. */
  platforms: readonly PlatformName[] | null
  /** A page withdraws for all senders only if its visitor ID cannot be guessed. */
  isPage: boolean
  reaches: 'everything' | 'pages'
}

interface StandingWithdrawal extends Withdrawal {
  keys: ReadonlySet<string>
}

interface WaitingDelivery {
  event: SentEvent
  platform: PlatformName
  decision: Decision
  /** It fails when its turn comes: the platform would refuse it. */
  isUnmatchable: boolean
}

/** How a delivery of an event ends. */
export type ExpectedOutcome =
  | 'sent'
  | 'refused'
  | 'withheld'
  | 'withdrawn'
  | 'not selected'
  | 'unmatchable'

const REOPENED_MILLISECONDS = 300_000
/** A page's event waits for that of the back end (docs/guides/deduplication.md). */
export const PAGE_HOLD_SECONDS = 900

/** Keeps account of what each platform may have, by the words of docs/guides/consent.md. */
export class Oracle {
  readonly sent: Record<PlatformName, Map<string, WaitingDelivery>> = {
    meta: new Map(),
    google_ads: new Map(),
    webhook: new Map(),
  }
  readonly expected = new Map<string, ExpectedOutcome>()
  #waiting: WaitingDelivery[] = []
  readonly #withdrawals: StandingWithdrawal[] = []
  /** Visitor -> what their events named: of all senders, and of the back end. */
  readonly #carried = new Map<string, { all: Set<string>; bySecret: Set<string> }>()

  /** The answer to the event: 422 if no platform is left. */
  expectStatus({ form }: SentEvent): number {
    return PLATFORMS.every(one => decide(form, one).outcome === 'denied') ? 422 : 202
  }

  accept(event: SentEvent): void {
    this.#remember(event)
    for (const platform of PLATFORMS) {
      const decision = decide(event.form, platform)
      const outcome = this.#expectOutcome(event, platform, decision)
      this.expected.set(`${event.eventId} ${platform}`, outcome)
      const waits = outcome === 'sent' || outcome === 'unmatchable'
      if (waits)
        this.#waiting.push({ event, platform, decision, isUnmatchable: outcome !== 'sent' })
    }
  }

  withdraw(withdrawal: Withdrawal): void {
    const keys = this.#reach(withdrawal)
    this.#withdrawals.push({ ...withdrawal, keys })
    this.#waiting = this.#waiting.filter(({ event, platform }) => {
      if (!this.#isWithdrawn(event, platform)) return true
      this.expected.set(`${event.eventId} ${platform}`, 'withdrawn')
      return false
    })
  }

  /** Everything that is due is sent. */
  deliver(at: Date): void {
    const isDue = ({ event: { isPage, receivedAt } }: WaitingDelivery) =>
      !isPage || at.getTime() >= receivedAt.getTime() + PAGE_HOLD_SECONDS * 1_000
    for (const delivery of this.#waiting.filter(isDue)) {
      if (delivery.isUnmatchable) continue
      this.sent[delivery.platform].set(delivery.event.eventId, delivery)
    }
    this.#waiting = this.#waiting.filter(delivery => !isDue(delivery))
  }

  #expectOutcome(event: SentEvent, platform: PlatformName, { outcome }: Decision): ExpectedOutcome {
    if (outcome === 'denied') return 'refused'
    if (outcome === 'withheld') return 'withheld'
    if (this.#isWithdrawn(event, platform)) return 'withdrawn'
    if (platform !== 'google_ads') return 'sent'
    // The map of the destination has no conversion action for a view of a page.
    if (event.eventName === 'PageView') return 'not selected'
    const { google, gclid } = event.identification
    return google.length > 0 || gclid !== null ? 'sent' : 'unmatchable'
  }

  #isWithdrawn(event: SentEvent, platform: PlatformName): boolean {
    const keys = keysOf(event)
    return this.#withdrawals.some(withdrawal => {
      const { at, platforms, reaches } = withdrawal
      if (platforms !== null && !platforms.includes(platform)) return false
      if (reaches === 'pages' && !event.isPage) return false
      const isAgain =
        event.capturedAt !== null &&
        event.capturedAt.getTime() > at.getTime() + REOPENED_MILLISECONDS
      return !isAgain && keys.some(key => withdrawal.keys.has(key))
    })
  }

  #remember(event: SentEvent): void {
    const { person, hasVisitor, isPage } = event
    if (!hasVisitor || person.visitorId === null) return
    const carried = this.#carried.get(person.visitorId) ?? { all: new Set(), bySecret: new Set() }
    this.#carried.set(person.visitorId, carried)
    for (const key of keysOf(event)) {
      carried.all.add(key)
      if (!isPage) carried.bySecret.add(key)
    }
  }

  #reach({ person, by, isPage, reaches }: Withdrawal): ReadonlySet<string> {
    if (by !== 'visitor') return new Set([keyOf(by, person)])
    const visitor = `visitor ${person.visitorId}`
    if (reaches === 'pages') return new Set([visitor])
    const carried = this.#carried.get(person.visitorId ?? '')
    return new Set([visitor, ...((isPage ? carried?.bySecret : carried?.all) ?? [])])
  }
}

function keysOf({ person, hasVisitor, identification }: SentEvent): string[] {
  const visitor = hasVisitor && person.visitorId !== null ? [`visitor ${person.visitorId}`] : []
  return [...visitor, ...identification.keys.map(key => keyOf(key, person))]
}

function keyOf(key: 'em' | 'ph' | 'external_id', { number }: Person): string {
  return `${key} ${number}`
}
