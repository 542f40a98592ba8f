import { Skeleton } from '@mantine/core'
import { lazy, type ReactNode, Suspense } from 'react'

/** Charts are in a chunk of their own, which only this page loads. */
export const CountsChart = lazy(async () => ({
  default: (await import('./report-charts.tsx')).CountsChart,
}))
export const GapChart = lazy(async () => ({
  default: (await import('./report-charts.tsx')).GapChart,
}))
export const ScoreChart = lazy(async () => ({
  default: (await import('./report-charts.tsx')).ScoreChart,
}))

/** A chart as one picture; the table that follows has its numbers. */
export function ChartFrame({ label, children }: { label: string; children: ReactNode }) {
  return (
    <figure aria-label={label} style={{ margin: 0 }}>
      <figcaption className="chart-caption">{label}</figcaption>
      <div aria-hidden="true">
        <Suspense fallback={<Skeleton height={260} />}>{children}</Suspense>
      </div>
    </figure>
  )
}
