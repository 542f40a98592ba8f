import { hash } from 'node:crypto'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { settleStore, storeListedEvents } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { startServiceProcess } from './service-process.ts'
import { type StoredPerson, storePersons } from './stored-persons.ts'

export interface ErasureFigures {
  machine: string
  /** One a size, the smallest first. */
  sizes: ErasureSize[]
}

export interface ErasureSize {
  events: number
  erasures: Erasure[]
}

export interface Erasure extends StoredPerson {
  /** What the receipt says; null when there was none. */
  erasedEvents: number | null
  milliseconds: number
}

/** Of people whom nobody knows, so that no figure holds the start of a process. */
const WARM_UP_ERASURES = 20

/** Erases people of trackers of different sizes in one store, through the service, one by one. */
export async function measureErasure(
  { erasure }: BenchPlan,
  closers: Closers,
): Promise<ErasureFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const { database, dataDirectory } = store
  const machine = await describeMachine(database, dataDirectory)
  const trackers = []
  for (const events of erasure.events) {
    const tracker = await store.newTracker()
    await storeListedEvents(database, tracker, { count: events })
    const plan = { count: events, persons: erasure.persons }
    trackers.push({ ...tracker, events, persons: await storePersons(database, tracker, plan) })
  }
  await settleStore(database)
  const service = await startServiceProcess({ role: 'serve', dataDirectory })
  closers.push(service.stop)
  const sizes: ErasureSize[] = []
  for (const { events, trackerSecret, persons } of trackers) {
    const target = { origin: service.url, trackerSecret }
    for (let stranger = 0; stranger < WARM_UP_ERASURES; stranger += 1) {
      await erase(target, { digest: hash('sha256', `stranger-${stranger}`), events: 0 })
    }
    const erasures: Erasure[] = []
    for (const person of persons) erasures.push(await erase(target, person))
    sizes.push({ events, erasures })
  }
  return { machine, sizes }
}

async function erase(
  { origin, trackerSecret }: { origin: string; trackerSecret: string },
  person: StoredPerson,
): Promise<Erasure> {
  const start = performance.now()
  const response = await fetch(`${origin}/api/v1/user-data`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${trackerSecret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ identifier_hash: person.digest, identifier_type: 'email' }),
  })
  const receipt = (await response.json()) as { events_updated?: number }
  const milliseconds = performance.now() - start
  return { ...person, erasedEvents: receipt.events_updated ?? null, milliseconds }
}
