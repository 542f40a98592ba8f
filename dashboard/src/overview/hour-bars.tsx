import type { StageSummary } from '@signalbox/contract/session/overview.ts'

const HEIGHT = 28
const GAP = 0.2
const HOUR = 3_600_000
const BARS_MAX = 60

/** The counts over time, without numbers: the table below the stages has them. */
export function HourBars({ stage: { hours, from, to, stage } }: { stage: StageSummary }) {
  if (from === null || hours.length === 0) return null
  const start = Date.parse(from)
  const span = stage === 'platform_counted' ? 24 * HOUR : HOUR
  const steps = Math.max(1, Math.ceil((Date.parse(to) - start) / span))
  if (steps === 1) return null
  const perBar = Math.ceil(steps / BARS_MAX)
  const bars = Array.from({ length: Math.ceil(steps / perBar) }, () => 0)
  for (const { hour, count } of hours) {
    const bar = Math.floor((Date.parse(hour) - start) / span / perBar)
    bars[bar] = (bars[bar] ?? 0) + count
  }
  const highest = Math.max(...bars)
  return (
    <svg
      className="hour-bars"
      viewBox={`0 0 ${bars.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {bars.map((count, bar) => {
        const height = count === 0 ? 0.5 : Math.max(2, (count / highest) * HEIGHT)
        return (
          <rect key={bar} x={bar + GAP / 2} y={HEIGHT - height} width={1 - GAP} height={height} />
        )
      })}
    </svg>
  )
}
