import type { CampaignFigures } from './campaign.ts'

/** The figures as Markdown, as they stand in docs/operations/test-report.md. */
export function formatCampaign(figures: CampaignFigures): string {
  const { cycles, schedules, seconds, seed, acknowledged, retries, repeats, receipts } = figures
  const violations = Object.values(figures.violations).flat().length
  const settle = figures.settleMilliseconds
  return [
    `${cycles} cycles in ${schedules} schedules from seed ${seed}, ${Math.round(seconds)} s ` +
      `(${(seconds / Math.max(cycles, 1)).toFixed(1)} s for each cycle).`,
    `${acknowledged} acknowledged events; clients sent ${retries} requests again, and the ` +
      `platforms received ${repeats} copies that they removed as duplicates.`,
    `${receipts} requests of Google Ads, each with its result.`,
    `All deliveries settled within ${formatSeconds(Math.max(0, ...settle))} of the last fault ` +
      `(median ${formatSeconds(median(settle))}).`,
    `Most memory: ${formatMemory(figures.memoryPeakBytes)}.`,
    `Violations: ${violations}.`,
    '',
    '| Fault | Cycles | Median until the next event | Longest |',
    '| --- | --- | --- | --- |',
    ...formatRecoveries(figures.recoveries),
  ].join('\n')
}

/** The targets of a fault, such as a process, are counted together. */
function formatRecoveries(recoveries: CampaignFigures['recoveries']): string[] {
  const byFault = Map.groupBy(Object.entries(recoveries), ([kind]) => kind.split(' (')[0] ?? kind)
  return [...byFault]
    .map(([fault, entries]) => ({ fault, times: entries.flatMap(([, times]) => times) }))
    .toSorted((one, other) => other.times.length - one.times.length)
    .map(({ fault, times }) => {
      const longest = formatSeconds(Math.max(...times))
      return `| ${fault} | ${times.length} | ${formatSeconds(median(times))} | ${longest} |`
    })
}

function formatMemory(peaks: Record<string, number>): string {
  return Object.entries(peaks)
    .map(([name, bytes]) => `${name} ${Math.round(bytes / 1_024 / 1_024)} MB`)
    .join(', ')
}

function formatSeconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(2)} s`
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
