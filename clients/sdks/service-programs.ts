import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { checkResult, sumAmount } from '../../examples/cdnow/check-result.ts'
import { formatDollars } from '../../examples/cdnow/exact-numbers.ts'
import { readPurchases } from '../../examples/cdnow/purchases.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'

/** A service, and the environment of a program in another language that uses it. */
export interface ProgramService {
  service: TestService
  environment: {
    SIGNALBOX_TOKEN: string
    SIGNALBOX_BASE_URL: string
    SIGNALBOX_TEST_NOW: string
    SIGNALBOX_TEST_DESTINATION: string
  }
}

export async function startProgramService(test: TestContext): Promise<ProgramService> {
  const service = await startTestService(test)
  const environment = {
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: `${service.url}/api/v1`,
    SIGNALBOX_TEST_NOW: service.clock.now().toISOString(),
    SIGNALBOX_TEST_DESTINATION: service.tracker.destinationId,
  }
  return { service, environment }
}

/** Delivers while a program runs, as the worker of an installation does. */
export async function deliverDuring<Value>(
  service: TestService,
  running: Promise<Value>,
): Promise<Value> {
  let isRunning = true
  const delivering = (async () => {
    while (isRunning) {
      await service.deliver()
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  })()
  try {
    return await running
  } finally {
    isRunning = false
    await delivering
  }
}

const SAMPLE = join(import.meta.dirname, '../../examples/cdnow/CDNOW_sample.txt')
/** The complete sample in a full run. */
const LINES = isShortRun() ? 100 : Number.POSITIVE_INFINITY

/**
 * Sends the CDNOW sample twice and compares each purchase with what the service stored and what the
 * platform received. `send` runs a program with the file and the number of lines to send, and
 * returns the JSON that it printed.
 */
export async function checkSampleProgram(
  { service, environment }: ProgramService,
  send: (sample: string, lines: string) => Promise<unknown>,
): Promise<void> {
  const purchases = readPurchases(SAMPLE).slice(0, LINES)
  const count = purchases.length
  const { cents } = sumAmount(purchases.map(({ dollars }) => dollars))
  const sent = { purchases: count, dollars: formatDollars(cents) }
  assert.deepEqual(await send(SAMPLE, String(count)), { ...sent, accepted: count })
  assert.deepEqual(await send(SAMPLE, String(count)), { ...sent, duplicate: count })

  while ((await service.deliver()) > 0);
  const { stored, received, differences } = await checkResult(purchases, {
    credentials: {
      base_url: environment.SIGNALBOX_BASE_URL,
      tracker_secret: environment.SIGNALBOX_TOKEN,
      simulator_url: service.simulatorUrl,
    },
    inFlightMax: 8,
    waitSecondsMax: 60,
    progress: { step() {} },
  })
  assert.deepEqual(differences, [])
  assert.deepEqual({ stored, received }, { stored: { count, cents }, received: { count, cents } })
}

/** The events that the programs of a README put into a queue end at the platform. */
export async function assertLeadsAccepted(service: TestService): Promise<void> {
  await service.deliver()
  const { body } = await service.request('GET', '/api/v1/events?per_page=100')
  const listed: ListedEvent[] = body.events.data
  const leads = listed.filter(({ event_name: name }) => name === 'Lead')
  const statuses = leads.flatMap(({ deliveries }) => deliveries.map(({ status }) => status))
  assert.deepEqual([...new Set(statuses)], ['accepted'])
}

interface ListedEvent {
  event_name: string
  deliveries: { status: string }[]
}
