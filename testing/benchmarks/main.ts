import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { closeAll } from '../../service/program/roles/role.ts'
import { measureAcceptance } from './acceptance.ts'
import { reportAcceptance } from './acceptance-report.ts'
import { measureBatches } from './batches.ts'
import type { BenchFindings, BenchName, BenchPlan, Closers } from './bench-plan.ts'
import { measureCitus } from './citus.ts'
import { reportCitus } from './citus-report.ts'
import { measureCommits } from './commits.ts'
import { measureDashboard, reportDashboard } from './dashboard.ts'
import { measureDelivery, reportDelivery } from './delivery.ts'
import { measureDestinations } from './destinations.ts'
import { measureErasure, reportErasure } from './erasure.ts'
import { measureExport } from './export.ts'
import { measureFirstMinute } from './first-minute.ts'
import { measureFresh, reportFresh } from './fresh.ts'
import { measureGrowth } from './growth.ts'
import { reportGrowth } from './growth-report.ts'
import { measureList, reportList } from './list.ts'
import { measureLoad } from './load.ts'
import { reportLoad } from './load-report.ts'
import { measurePeer } from './peer.ts'
import { readBenchCommand } from './read-bench-command.ts'
import { formatResultsEntry } from './report-format.ts'
import { measureRetention, reportRetention } from './retention.ts'
import { measureStoreSettings } from './store-settings.ts'
import { measureWorkers } from './workers.ts'

/**
 * `npm run bench` or `npm run bench -- NAME`. The exit code is 1 when responses or rows are wrong,
 * never for slowness; for growth also when a target is missed, since bytes and buffers do not
 * depend on the machine.
 */
const BENCHMARKS: Record<BenchName, (plan: BenchPlan, closers: Closers) => Promise<BenchFindings>> =
  {
    load: async (plan, closers) => reportLoad(await measureLoad(plan, closers)),
    acceptance: async (plan, closers) => reportAcceptance(await measureAcceptance(plan, closers)),
    batches: measureBatches,
    commits: measureCommits,
    destinations: measureDestinations,
    workers: measureWorkers,
    fresh: async (plan, closers) => reportFresh(await measureFresh(plan, closers)),
    delivery: async (plan, closers) => reportDelivery(await measureDelivery(plan, closers)),
    list: async (plan, closers) => reportList(await measureList(plan, closers)),
    dashboard: async (plan, closers) => reportDashboard(await measureDashboard(plan, closers)),
    erasure: async (plan, closers) => reportErasure(await measureErasure(plan, closers)),
    retention: async (plan, closers) => reportRetention(await measureRetention(plan, closers)),
    export: measureExport,
    growth: async (plan, closers) => reportGrowth(await measureGrowth(plan, closers)),
    'store-settings': measureStoreSettings,
    'first-minute': async (_plan, closers) => measureFirstMinute(closers),
    peer: measurePeer,
    citus: async (plan, closers) => reportCitus(await measureCitus(plan, closers)),
  }
const RESULTS = join(import.meta.dirname, 'results.md')

const args = process.argv.slice(2)
const command = readBenchCommand(args)
if ('problem' in command) {
  process.stderr.write(`${command.problem}\n`)
  process.exit(1)
}

const closers: Closers = []
let closing: Promise<void> | undefined
const close = () => {
  closing ??= closeAll(closers)
  return closing
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void close().finally(() => process.exit(1)))
}
try {
  const findings = await BENCHMARKS[command.name](command.plan, closers)
  const { text, faults, missedAims = [], isSkipped = false } = findings
  process.stdout.write(`${text}\n`)
  for (const sentence of [...faults, ...missedAims]) process.stderr.write(`${sentence}\n`)
  if (faults.length + missedAims.length > 0) process.exitCode = 1
  if (faults.length === 0 && !isSkipped && command.write) {
    appendFileSync(RESULTS, formatResultsEntry({ args, text, at: new Date() }))
  }
} catch (error) {
  // Ending the programs makes an interrupted run fail; do not report that.
  if (!closing) throw error
} finally {
  await close()
}
