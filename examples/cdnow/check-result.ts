import { dollarText, sumOfCents, toCents } from './cents.ts'
import { checkPurchase, type PurchaseCheck } from './check-purchase.ts'
import { inParallel } from './in-parallel.ts'
import type { Progress } from './progress.ts'
import { CURRENCY, purchaseEventId } from './purchase-event.ts'
import type { Credentials } from './read-credentials.ts'
import type { Purchase } from './read-purchases.ts'
import { readReceived, readSummary } from './read-received.ts'
import { readStored } from './read-stored.ts'

export interface Checking {
  credentials: Credentials
  atOnceMax: number
  /** How long, all together, deliveries that are still under way are waited for. */
  waitSecondsMax: number
  progress: Progress
}

/** A number of purchases and what they come to. */
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

/** Reads every purchase back from the service and from the simulator and compares them all. */
export async function checkResult(
  purchases: readonly Purchase[],
  { credentials, atOnceMax, waitSecondsMax, progress }: Checking,
): Promise<ResultFigures> {
  const deadline = AbortSignal.timeout(waitSecondsMax * 1_000)
  const datasets = new Set<string>()
  const checks = await inParallel(purchases, atOnceMax, async purchase => {
    const eventId = purchaseEventId(purchase)
    const stored = await readStored(credentials, eventId, { deadline })
    const receipts = await readReceived(credentials, eventId)
    for (const { dataset } of receipts) datasets.add(dataset)
    progress.step()
    return checkPurchase(purchase, stored, receipts)
  })
  const figures = figuresOf(purchases, checks)
  figures.differences.push(...(await summaryDifferences(credentials, datasets, figures.received)))
  return figures
}

function figuresOf(
  purchases: readonly Purchase[],
  checks: readonly PurchaseCheck[],
): ResultFigures {
  const stored = amountOf(checks.map(({ storedDollars }) => storedDollars))
  const received = amountOf(checks.map(({ receivedDollars }) => receivedDollars))
  const inFile = amountOf(purchases.map(({ dollars }) => dollars))
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

export function amountOf(dollars: readonly (string | null)[]): Amount {
  const known = dollars.filter(text => text !== null)
  return { count: known.length, cents: sumOfCents(known) }
}

function sumDifference(what: string, { cents }: Amount, inFile: Amount): string[] {
  if (cents === inFile.cents) return []
  return [`the sum ${what} is ${dollarText(cents)}, not ${dollarText(inFile.cents)}`]
}

/** The simulator keeps a sum of its own; it must agree when the dataset holds nothing else. */
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
  return [`the simulator's own sum is ${sum}, not ${dollarText(received.cents)}`]
}
