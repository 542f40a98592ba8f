import { createHash } from 'node:crypto'
import { formatDollars, sumCents, toCents } from './exact-numbers.ts'
import type { Progress } from './progress.ts'
import { CURRENCY, type Purchase, purchaseEventId } from './purchases.ts'
import {
  type Receipt,
  readReceipts,
  readStoredEvent,
  readSummary,
  type StoredEvent,
} from './read-back.ts'
import { type Credentials, createClient } from './read-credentials.ts'
import { type Answer, mapConcurrently } from './submit-events.ts'

interface Checking {
  credentials: Credentials
  inFlightMax: number
  /** The total time to wait for pending deliveries. */
  waitSecondsMax: number
  progress: Progress
}

/** A number of purchases and their sum. */
export interface Amount {
  count: number
  cents: bigint
}

export interface ResultFigures {
  stored: Amount
  received: Amount
  copies: number
  differences: string[]
}

/** Compares every purchase with the stored event and the receipts of the simulator. */
export async function checkResult(
  purchases: readonly Purchase[],
  { credentials, inFlightMax, waitSecondsMax, progress }: Checking,
): Promise<ResultFigures> {
  const client = createClient(credentials)
  const deadline = performance.now() + waitSecondsMax * 1_000
  const datasets = new Set<string>()
  const checks = await mapConcurrently(purchases, inFlightMax, async purchase => {
    const eventId = purchaseEventId(purchase)
    const waitMillisecondsMax = Math.max(deadline - performance.now(), 0)
    const stored = await readStoredEvent(client, eventId, waitMillisecondsMax)
    const receipts = await readReceipts(credentials, eventId)
    for (const { dataset } of receipts) datasets.add(dataset)
    progress.step()
    return checkPurchase(purchase, stored, receipts)
  })
  const figures = computeFigures(purchases, checks)
  figures.differences.push(...(await summaryDifferences(credentials, datasets, figures.received)))
  return figures
}

function computeFigures(
  purchases: readonly Purchase[],
  checks: readonly PurchaseCheck[],
): ResultFigures {
  const stored = sumAmount(checks.map(({ storedDollars }) => storedDollars))
  const received = sumAmount(checks.map(({ receivedDollars }) => receivedDollars))
  const inFile = sumAmount(purchases.map(({ dollars }) => dollars))
  return {
    stored,
    received,
    copies: checks.reduce((sum, { copies }) => sum + copies, 0),
    differences: [
      ...checks.flatMap(({ differences }) => differences),
      ...sumDifference('stored', stored, inFile),
      ...sumDifference('received', received, inFile),
    ],
  }
}

export function sumAmount(dollars: readonly (string | null)[]): Amount {
  const known = dollars.filter(text => text !== null)
  return { count: known.length, cents: sumCents(known) }
}

function sumDifference(what: string, { cents }: Amount, inFile: Amount): string[] {
  if (cents === inFile.cents) return []
  return [`the sum ${what} is ${formatDollars(cents)}, not ${formatDollars(inFile.cents)}`]
}

/** The simulator's own sum must be equal if the dataset contains no other events. */
async function summaryDifferences(
  credentials: Credentials,
  datasets: ReadonlySet<string>,
  received: Amount,
): Promise<string[]> {
  const [dataset, ...others] = datasets
  if (dataset === undefined) return []
  if (others.length > 0) return [`the simulator received them in ${datasets.size} datasets, not 1`]
  const summary = await readSummary(credentials, dataset)
  if (Number(summary.unique_events) < received.count) {
    return [`the simulator counted ${summary.unique_events} events, not ${received.count}`]
  }
  if (Number(summary.unique_events) > received.count) return []
  const sum = summary.value_by_currency[CURRENCY] ?? '0'
  if (toCents(sum) === received.cents) return []
  return [`the simulator's own sum is ${sum}, not ${formatDollars(received.cents)}`]
}

interface PurchaseCheck {
  /** The stored amount in dollars; null if the event is not stored. */
  storedDollars: string | null
  /** The amount that the simulator counted; null unless it counted the event exactly once. */
  receivedDollars: string | null
  /** Duplicates that the simulator detected. */
  copies: number
  differences: string[]
}

/** Compares one line of the sample with its event and receipts. Pure. */
export function checkPurchase(
  purchase: Purchase,
  stored: StoredEvent | null,
  receipts: readonly Receipt[],
): PurchaseCheck {
  const counted = receipts.filter(({ deduplicated }) => !deduplicated)
  const [receipt] = counted
  const found = [
    ...(stored ? compareStored(purchase, stored) : ['is not stored']),
    ...(counted.length === 1 ? [] : [`the simulator counted it ${counted.length} times`]),
    ...(receipt ? compareReceipt(purchase, stored, receipt) : []),
  ]
  const eventId = purchaseEventId(purchase)
  return {
    storedDollars: stored?.event.value_amount ?? null,
    receivedDollars: counted.length === 1 ? (receipt?.custom_data.value ?? null) : null,
    copies: receipts.length - counted.length,
    differences: found.map(difference => `${eventId}: ${difference}`),
  }
}

function compareStored(purchase: Purchase, { event, deliveries }: StoredEvent): string[] {
  const [delivery] = deliveries
  const differences = findDifferences('stored', {
    id: [event.id, purchaseEventId(purchase)],
    event_name: [event.event_name, 'Purchase'],
    value_amount: [event.value_amount, purchase.dollars],
    value_currency: [event.value_currency, CURRENCY],
    'value_data.value': [event.value_data?.value, purchase.dollars],
    'value_data.num_items': [event.value_data?.num_items, purchase.items],
    deliveries: [deliveries.length, 1],
  })
  if (delivery && delivery.status !== 'accepted') {
    differences.push(`its delivery is ${delivery.status}: ${delivery.explanation}`)
  }
  return differences
}

function compareReceipt(
  { customer, dollars, items }: Purchase,
  stored: StoredEvent | null,
  { event_name, event_time, user_data, custom_data }: Receipt,
): string[] {
  const digest = createHash('sha256').update(customer).digest('hex')
  return findDifferences('received', {
    event_name: [event_name, 'Purchase'],
    'custom_data.value': [custom_data.value, dollars],
    'custom_data.currency': [custom_data.currency, CURRENCY],
    'custom_data.num_items': [custom_data.num_items, String(items)],
    'user_data.external_id': [user_data.external_id?.join(), digest],
    ...(stored && { event_time: [event_time, unixSeconds(stored.event.event_time)] }),
  })
}

type Pairs = Record<string, [is: unknown, shouldBe: unknown]>

function findDifferences(where: string, pairs: Pairs): string[] {
  return Object.entries(pairs)
    .filter(([, [is, shouldBe]]) => is !== shouldBe)
    .map(([name, [is, shouldBe]]) => `${where} ${name} is ${is}, not ${shouldBe}`)
}

function unixSeconds(time: string): string {
  return String(Date.parse(time) / 1_000)
}

export interface AnswerFigures {
  submissions: number
  accepted: number
  duplicates: number
  retries: number
  differences: string[]
}

/**
 * Every response must be 202 and new, or 200 and duplicate, and no event may be new twice. So at
 * least one response to an event that was sent twice is 200.
 */
export function checkAnswers(answers: readonly Answer[]): AnswerFigures {
  const newIds = new Set<string>()
  const figures: AnswerFigures = {
    submissions: answers.length,
    accepted: 0,
    duplicates: 0,
    retries: answers.reduce((sum, { retries }) => sum + retries, 0),
    differences: [],
  }
  for (const { eventId, status, duplicate } of answers) {
    if (status === 202 && duplicate === false) {
      figures.accepted += 1
      if (newIds.has(eventId)) figures.differences.push(`${eventId}: answered 202 twice`)
      newIds.add(eventId)
    } else if (status === 200 && duplicate === true) {
      figures.duplicates += 1
    } else {
      figures.differences.push(`${eventId}: answered ${status}, duplicate ${duplicate}`)
    }
  }
  return figures
}
