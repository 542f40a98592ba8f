import { loadCredentialKey } from '../../service/program/provisioning/installation-keys.ts'
import { provisionDestination } from '../../service/program/provisioning/provision-tracker.ts'
import type { Platform } from '../../service/signals/platforms/platform.ts'
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

/** The costs of all trackers, in the order of `listTrackers`, on the same process and store. */
type Round = readonly Cost[]

/** What two destinations may cost more than one, in the CPU time of service and PostgreSQL. */
const PERCENT_MAX = 8

/**
 * What more destinations cost at acceptance: a tracker with Meta alone, one with Meta and Google
 * Ads, and one with a destination of each platform; all of them get every event. They take turns
 * within a round, and each round begins with another one, so that what slows the machine meets all.
 */
export async function measureDestinations(
  plan: BenchPlan,
  closers: Closers,
): Promise<BenchFindings> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const trackers = await listTrackers(store)
  const service = await startServiceProcess({ role: 'serve', dataDirectory: store.dataDirectory })
  closers.push(service.stop)
  const measure = (trackerSecret: string) => measureCost(plan, { store, service, trackerSecret })
  for (const { trackerSecret } of trackers) await measure(trackerSecret)
  const rounds: Round[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    const costs: Cost[] = []
    for (let turn = 0; turn < trackers.length; turn += 1) {
      const place = (round + turn) % trackers.length
      costs[place] = await measure((trackers[place] as LoadedTracker).trackerSecret)
    }
    rounds.push(costs)
  }
  const faults = await findFaults(store, rounds, trackers)
  return report(machine, { rounds, trackers }, faults)
}

interface LoadedTracker {
  trackerId: string
  trackerSecret: string
  /** Its platforms, for people. */
  title: string
  destinations: number
}

/** A new tracker has a destination of Meta. */
async function listTrackers(store: BenchStore): Promise<LoadedTracker[]> {
  const [meta, ...others] = createOfflinePlatforms().all
  const second = others.find(({ name }) => name === 'google_ads')
  if (meta === undefined || second === undefined) throw new Error('a platform has no plug-in')
  const sets = [[], [second], others]
  const trackers: LoadedTracker[] = []
  for (const added of sets) {
    const { trackerId, trackerSecret } =
      trackers.length === 0 ? store.tracker : await store.newTracker()
    for (const platform of added) await addDestination(store, trackerId, platform)
    const destinations = added.length + 1
    const labels = [meta, ...added].map(({ label }) => label)
    const title = destinations > 2 ? `all ${destinations} platforms` : labels.join(' and ')
    trackers.push({ trackerId, trackerSecret, title, destinations })
  }
  return trackers
}

/** The simulator's destination; where the platform needs a name for purchases, it has one. */
async function addDestination(
  { database, dataDirectory }: BenchStore,
  trackerId: string,
  platform: Platform,
) {
  const { config, credential: accessToken } = platform.createSimulatorDestination()
  await provisionDestination(database, {
    trackerId,
    at: new Date(),
    credentialKeys: { current: loadCredentialKey(undefined, dataDirectory), previous: [] },
    connected: { platform: platform.name, config, accessToken },
    ...(platform.conversionTargets && { routing: { event_names: { Purchase: '123456789' } } }),
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

interface Measurement {
  rounds: readonly Round[]
  trackers: readonly LoadedTracker[]
}

function report(
  machine: string,
  { rounds, trackers }: Measurement,
  faults: string[],
): BenchFindings {
  const rows = MEASURES.map(measure => [
    measure.name,
    ...trackers.flatMap((_, place) => {
      const costs = rounds.map(round => round[place] as Cost)
      const figure = formatFigure(readMedian(measure, costs), measure.digits)
      if (place === 0) return [figure]
      const more = readMorePercent(measure, rounds, place)
      return [figure, more === null ? '' : `${formatFigure(more, 1)} %`]
    }),
  ])
  const cpu = MEASURES.find(({ read }) => read === readCpu) as Measure<Cost>
  const more = readMorePercent(cpu, rounds, 1)
  const isMet = more === null || more <= PERCENT_MAX
  const titles = trackers.flatMap(({ title }, place) => (place === 0 ? [title] : [title, 'more']))
  const text = [
    machine,
    `medians of ${rounds.length} rounds; "more" is the median of the rounds' ratios to ` +
      `${trackers[0]?.title} alone`,
    '',
    formatTable([['', ...titles], ...rows]),
    '',
    `target for two at most ${PERCENT_MAX} % more CPU of both: ${isMet ? 'met' : 'missed'}`,
    ...describeEach(cpu, { rounds, trackers }),
  ].join('\n')
  return { text, faults }
}

/** What the last tracker's destinations beyond the second add, each, to the CPU time. */
function describeEach(cpu: Measure<Cost>, { rounds, trackers }: Measurement): string[] {
  const [, two, all] = trackers
  const more = [1, 2].map(place => readMorePercent(cpu, rounds, place))
  const [ofTwo, ofAll] = more
  if (!two || !all || ofTwo === null || ofAll === null) return []
  const each = ((ofAll ?? 0) - (ofTwo ?? 0)) / (all.destinations - two.destinations)
  return [`each destination after the second: ${formatFigure(each, 1)} % more`]
}

/** By how many percent a tracker's cost is above that of the first one in the same round. */
function readMorePercent(
  { read }: Measure<Cost>,
  rounds: readonly Round[],
  place: number,
): number | null {
  const ratios = rounds.flatMap(round => {
    const [own, other] = [read(round[0] as Cost), read(round[place] as Cost)]
    return own === null || other === null ? [] : [100 * (other / own - 1)]
  })
  return ratios.length === 0 ? null : median(ratios)
}

/** Every event has its deliveries, one for each destination, and all of them wait. */
async function findFaults(
  { database }: BenchStore,
  rounds: readonly Round[],
  trackers: readonly LoadedTracker[],
): Promise<string[]> {
  const { rows } = await database.pool.query(
    `select tracker_id, (select count(*)::integer from events
         where events.tracker_id = own.tracker_id) as events,
       (select count(*)::integer from delivery_queue queue
         where queue.tracker_id = own.tracker_id and status = 'queued') as queued
     from unnest($1::uuid[]) with ordinality own(tracker_id, number) order by number`,
    [trackers.map(({ trackerId }) => trackerId)],
  )
  const counted = rows.flatMap(({ events, queued }, index) => {
    const { destinations = 0 } = trackers[index] ?? {}
    return queued === events * destinations && events > 0
      ? []
      : [`${queued} deliveries wait for ${events} events of ${destinations} destinations.`]
  })
  const refused = rounds
    .flat()
    .flatMap(({ load: { answers, brokenCount } }) =>
      Object.keys(answers).join() === '202' && brokenCount === 0
        ? []
        : [`Not every response was 202: ${JSON.stringify(answers)}, ${brokenCount} broke.`],
    )
  return [...counted, ...refused]
}
