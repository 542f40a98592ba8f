import { spawn } from 'node:child_process'
import { createReadStream, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../service/runtime/db/database.ts'
import { insertEvents } from '../../service/signals/ingestion/commit-store.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { vacuumStore } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { purchaseGroup } from './purchase-drafts.ts'
import { formatAim, formatFigure, formatTable, median } from './report-format.ts'

const FORMATS = ['ndjson', 'csv', 'parquet'] as const
const AIM = { limit: 20_000, direction: 'at least' } as const
const GROUP_ROWS = 1_000
/** The export ends ten seconds before its start. */
const AGE_MILLISECONDS = 3_600_000

interface Round {
  copySeconds: number
  seconds: Record<(typeof FORMATS)[number], number>
}

/**
 * The command as an operator runs it, with its start, and in the same round `COPY` of the same
 * columns of the same rows to a file of the server.
 */
export async function measureExport(plan: BenchPlan, closers: Closers): Promise<BenchFindings> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const { events } = plan.export
  await storePurchases(store, events)
  await vacuumStore(store.database)
  const faults: string[] = []
  const rounds: Round[] = []
  let bytes = 0
  for (let round = 0; round < plan.rounds; round += 1) {
    const seconds = { ndjson: 0, csv: 0, parquet: 0 }
    for (const format of FORMATS) {
      const path = join(store.dataDirectory, `events.${format}`)
      seconds[format] = await secondsOf(() => runExport(store, format, path))
      if (format === 'ndjson') {
        bytes = statSync(path).size
        const lines = await countLines(path)
        if (lines !== events) faults.push(`${events} events are stored, ${lines} were exported.`)
      }
      rmSync(path)
    }
    rounds.push({ copySeconds: await secondsOf(() => copyEvents(store)), seconds })
  }
  return { text: `${machine}\n\n${report(rounds, events, bytes)}`, faults }
}

export async function storePurchases(
  { database, tracker }: BenchStore,
  events: number,
): Promise<void> {
  const from = Date.now() - AGE_MILLISECONDS
  for (let first = 0; first < events; first += GROUP_ROWS) {
    const rows = Math.min(GROUP_ROWS, events - first)
    const at = new Date(from + first / GROUP_ROWS)
    const group = purchaseGroup({ trackers: [tracker], rows, first, run: 'e'.repeat(12), at })
    await insertEvents(database, group.entries, group.deliveries)
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1_000
}

const MAIN = join(import.meta.dirname, '../../service/main.ts')

function runExport(store: BenchStore, format: string, path: string): Promise<void> {
  const { dataDirectory, tracker, connectionString } = store
  const parameters = ['--tracker', tracker.trackerId, '--format', format, '--out', path]
  const child = spawn(process.execPath, [MAIN, 'export', 'events', ...parameters], {
    env: { SIGNALBOX_DATA_DIR: dataDirectory, DATABASE_URL: connectionString },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', code =>
      code === 0 ? resolve() : reject(new Error(`export ended with ${code}`)),
    )
  })
}

async function countLines(path: string): Promise<number> {
  let lines = 0
  for await (const chunk of createReadStream(path, { encoding: 'latin1' })) {
    lines += (chunk as string).split('\n').length - 1
  }
  return lines
}

/** What the export reads of each event, in the same order. */
async function copyEvents({ database, tracker, dataDirectory }: BenchStore): Promise<void> {
  const path = join(dataDirectory, 'events.copy')
  const client = await (database as Pick<Database, 'pool'>).pool.connect()
  try {
    await client.query(
      `copy (
         select events.*, payload.visitor_id, payload.user_data, payload.click_ids,
           payload.page_url
         from events
         left join event_payloads payload
           on payload.tracker_id = events.tracker_id and payload.created_at = events.created_at
             and payload.event_id = events.event_id and payload.space = events.space
             and payload.received_on = (events.created_at at time zone 'UTC')::date
         where events.tracker_id = '${tracker.trackerId}'
         order by events.created_at, events.event_id, events.space
       ) to '${path}'`,
    )
  } finally {
    client.release()
    rmSync(path, { force: true })
  }
}

function report(rounds: readonly Round[], events: number, bytes: number): string {
  const copy = median(rounds.map(({ copySeconds }) => events / copySeconds))
  const rows = FORMATS.map(format => {
    const speed = median(rounds.map(({ seconds }) => events / seconds[format]))
    const cells = [formatFigure(speed, 0), formatFigure(speed / copy, 2)]
    return [`export --format ${format}`, ...cells, formatAim(AIM, speed)]
  })
  return [
    `${formatFigure(events, 0)} purchases, ${formatFigure(bytes / events, 0)} bytes each as NDJSON`,
    '',
    formatTable([
      ['', 'events/s', 'of COPY', ''],
      ['COPY of the same rows', formatFigure(copy, 0), '1.00', ''],
      ...rows,
    ]),
  ].join('\n')
}
