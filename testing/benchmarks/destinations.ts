import { loadCredentialKey } from '../../service/program/provisioning/installation-keys.ts'
import { provisionDestination } from '../../service/program/provisioning/provision-tracker.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { countAccepted } from './acceptance-round.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { type ServiceProcess, startServiceProcess } from './child-processes.ts'
import { describeMachine } from './machine.ts'
import { perThousand, readProcessSeconds, readProcessTreeSeconds } from './process-cost.ts'
import { formatFigure, formatTable, type Measure, median, readMedian } from './report-format.ts'
import { type LoadResult, runLoad } from './run-load.ts'
import { readWalPosition } from './store-statistics.ts'

/** What a thousand accepted events of one tracker cost. */
interface Cost {
  accepted: number
  load: LoadResult
  serviceCpuSeconds: number | null
  storeCpuSeconds: number | null
  walBytes: number
  rowsPerCommit: number
}

/** Both trackers, one after the other, on the same process and store. */
interface Round {
  one: Cost
  two: Cost
}

/** What two destinations may cost more than one, in the CPU time of service and PostgreSQL. */
const PERCENT_MAX = 8

/**
 * What a second destination costs at acceptance: a tracker with Meta alone, and one with Meta and
 * Google Ads whose destinations both get every event. The two take turns within a round, and
 * change the order with each round, so that what slows the machine meets both.
 */
export async function measureDestinations(
  plan: BenchPlan,
  closers: Closers,
): Promise<BenchFindings> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const one = store.tracker
  const two = await store.newTracker()
  await addGoogle(store, two.trackerId)
  const service = await startServiceProcess({ role: 'serve', dataDirectory: store.dataDirectory })
  closers.push(service.stop)
  const measure = (trackerSecret: string) => measureCost(plan, { store, service, trackerSecret })
  await measure(one.trackerSecret)
  await measure(two.trackerSecret)
  const rounds: Round[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    const isOneFirst = round % 2 === 0
    const first = await measure(isOneFirst ? one.trackerSecret : two.trackerSecret)
    const second = await measure(isOneFirst ? two.trackerSecret : one.trackerSecret)
    rounds.push(isOneFirst ? { one: first, two: second } : { one: second, two: first })
  }
  return report(machine, rounds, await findFaults(store, rounds, [one.trackerId, two.trackerId]))
}

/** The simulator's destination, with a conversion action for the load's purchases. */
async function addGoogle({ database, dataDirectory }: BenchStore, trackerId: string) {
  const google = createOfflinePlatforms().find('google_ads')
  if (google === null) throw new Error('there is no plug-in for Google Ads')
  const { config, credential: accessToken } = google.createSimulatorDestination()
  await provisionDestination(database, {
    trackerId,
    at: new Date(),
    credentialKeys: { current: loadCredentialKey(undefined, dataDirectory), previous: [] },
    connected: { platform: google.name, config, accessToken },
    routing: { event_names: { Purchase: '123456789' } },
  })
}

interface Measured {
  store: BenchStore
  service: ServiceProcess
  trackerSecret: string
}

async function measureCost(
  plan: BenchPlan,
  { store, service, trackerSecret }: Measured,
): Promise<Cost> {
  const startedAt = new Date()
  const before = await readCosts(store, service)
  const connections = plan.connections.at(-1) as number
  const load = await runLoad({ ...plan, origin: service.url, trackerSecret, connections })
  const after = await readCosts(store, service)
  const accepted = countAccepted(load)
  const { rows } = await store.database.pool.query(
    `select count(*)::float / greatest(count(distinct xmin::text), 1) as mean
     from events where created_at >= $1`,
    [startedAt],
  )
  return {
    accepted,
    load,
    serviceCpuSeconds: perThousand(before.service, after.service, accepted),
    storeCpuSeconds: perThousand(before.store, after.store, accepted),
    walBytes: (after.walBytes - before.walBytes) / accepted,
    rowsPerCommit: rows[0].mean,
  }
}

async function readCosts(store: BenchStore, service: ServiceProcess) {
  return {
    walBytes: (await readWalPosition(store.database)).bytes,
    service: readProcessSeconds(service.processId),
    store: readProcessTreeSeconds(store.processId),
  }
}

const MEASURES: Measure<Cost>[] = [
  { name: 'CPU of the service, s/1,000', digits: 3, read: cost => cost.serviceCpuSeconds },
  { name: 'CPU of PostgreSQL, s/1,000', digits: 3, read: cost => cost.storeCpuSeconds },
  { name: 'CPU of both, s/1,000', digits: 3, read: readCpu },
  { name: 'WAL bytes per event', digits: 0, read: cost => cost.walBytes },
  { name: 'events per commit', digits: 1, read: cost => cost.rowsPerCommit },
  { name: 'events per second', digits: 0, read: cost => cost.load.eventsPerSecond },
]

function readCpu({ serviceCpuSeconds, storeCpuSeconds }: Cost): number | null {
  if (serviceCpuSeconds === null || storeCpuSeconds === null) return null
  return serviceCpuSeconds + storeCpuSeconds
}

function report(machine: string, rounds: readonly Round[], faults: string[]): BenchFindings {
  const rows = MEASURES.map(measure => {
    const more = readMorePercent(measure, rounds)
    return [
      measure.name,
      ...(['one', 'two'] as const).map(name =>
        formatFigure(
          readMedian(
            measure,
            rounds.map(round => round[name]),
          ),
          measure.digits,
        ),
      ),
      more === null ? '' : `${formatFigure(more, 1)} %`,
    ]
  })
  const cpu = MEASURES.find(({ read }) => read === readCpu) as Measure<Cost>
  const more = readMorePercent(cpu, rounds)
  const isMet = more === null || more <= PERCENT_MAX
  const text = [
    machine,
    `medians of ${rounds.length} rounds; the last column is the median of the rounds' ratios`,
    '',
    formatTable([['', 'Meta', 'Meta and Google Ads', 'more'], ...rows]),
    '',
    `target at most ${PERCENT_MAX} % more CPU of both: ${isMet ? 'met' : 'missed'}`,
  ].join('\n')
  return { text, faults }
}

/** By how many percent the second tracker's cost is above that of the first in the same round. */
function readMorePercent({ read }: Measure<Cost>, rounds: readonly Round[]): number | null {
  const ratios = rounds.flatMap(({ one, two }) => {
    const [own, other] = [read(one), read(two)]
    return own === null || other === null ? [] : [100 * (other / own - 1)]
  })
  return ratios.length === 0 ? null : median(ratios)
}

/** Every event has its deliveries: one, or two that both wait. */
async function findFaults(
  { database }: BenchStore,
  rounds: readonly Round[],
  trackerIds: readonly [string, string],
): Promise<string[]> {
  const { rows } = await database.pool.query(
    `select tracker_id, (select count(*)::integer from events
         where events.tracker_id = own.tracker_id) as events,
       (select count(*)::integer from delivery_queue queue
         where queue.tracker_id = own.tracker_id and status = 'queued') as queued
     from unnest($1::uuid[]) with ordinality own(tracker_id, number) order by number`,
    [trackerIds],
  )
  const counted = rows.flatMap(({ events, queued }, index) =>
    queued === events * (index + 1) && events > 0
      ? []
      : [`${queued} deliveries wait for ${events} events of ${index + 1} destinations.`],
  )
  const loads = rounds.flatMap(({ one, two }) => [one.load, two.load])
  const refused = loads.flatMap(({ answers, brokenCount }) =>
    Object.keys(answers).join() === '202' && brokenCount === 0
      ? []
      : [`Not every response was 202: ${JSON.stringify(answers)}, ${brokenCount} broke.`],
  )
  return [...counted, ...refused]
}
