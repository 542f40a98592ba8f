import { Counter } from 'prom-client'
import type { MetricsRegistry } from './metrics-registry.ts'

export interface LabelCounter<Value extends string> {
  name: string
  help: string
  label: string
  /** All there can be; each is shown from the start, so that a rate is known from the first one. */
  values: readonly Value[]
}

/**
 * A counter by one label. To count is an addition, without a look-up in the library; that hears
 * of the sums when somebody asks.
 */
export function labelCounter<Value extends string>(
  registry: MetricsRegistry,
  { name, help, label, values }: LabelCounter<Value>,
): (value: Value, count?: number) => void {
  const sums = Object.fromEntries(values.map(value => [value, 0])) as Record<Value, number>
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const value of values) this.inc({ [label]: value }, sums[value])
    },
  })
  return (value, count = 1) => {
    sums[value] += count
  }
}
