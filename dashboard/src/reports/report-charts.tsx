import '@mantine/charts/styles.css'
import { BarChart, LineChart } from '@mantine/charts'
import { formatNumber } from '../components/format-count.ts'
import { BUCKETS, type DayRow } from './buckets.ts'

const HEIGHT = 260
/** A single day would fill the whole chart. */
const BAR_WIDTH_MAX = 48
const STILL = { isAnimationActive: false }
/** The table below a chart says the same, and can be read by a screen reader. */
const CHART_PROPS = { accessibilityLayer: false, margin: { right: 16 } }

/** Events that the platform accepted from us, and events that it counted, by day. */
export function CountsChart({ rows }: { rows: readonly DayRow[] }) {
  return (
    <LineChart
      h={HEIGHT}
      data={[...rows]}
      dataKey="date"
      series={[
        { name: 'accepted', label: 'Accepted', color: 'var(--color-action)' },
        { name: 'counted', label: 'Counted by the platform', color: 'blue.6' },
      ]}
      valueFormatter={formatNumber}
      withLegend
      curveType="linear"
      lineProps={STILL}
      lineChartProps={CHART_PROPS}
    />
  )
}

/** What explains the gap of each day. */
export function GapChart({ rows }: { rows: readonly DayRow[] }) {
  return (
    <BarChart
      h={HEIGHT}
      data={[...rows]}
      dataKey="date"
      type="stacked"
      series={[
        ...BUCKETS.map(({ name, label, color }) => ({ name, label, color })),
        { name: 'unexplained', label: 'Unexplained', color: 'red.6' },
      ]}
      withLegend
      barProps={STILL}
      maxBarWidth={BAR_WIDTH_MAX}
      valueFormatter={formatNumber}
      barChartProps={CHART_PROPS}
    />
  )
}

interface ScoreChartProps {
  trend: readonly { date: string; score: number }[]
  alertBelow: number
}

/** The score of each day, with the line below which an alert is raised. */
export function ScoreChart({ trend, alertBelow }: ScoreChartProps) {
  return (
    <LineChart
      h={HEIGHT}
      data={[...trend]}
      dataKey="date"
      series={[{ name: 'score', label: 'Score', color: 'var(--color-action)' }]}
      yAxisProps={{ domain: [0, 10], ticks: [0, 2, 4, 6, 8, 10] }}
      referenceLines={[{ y: alertBelow, label: `Alert below ${alertBelow}`, color: 'red.6' }]}
      curveType="linear"
      lineProps={STILL}
      lineChartProps={CHART_PROPS}
    />
  )
}
