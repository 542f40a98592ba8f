import type { BenchFindings } from './bench-plan.ts'
import type { ErasureFigures, ErasureSize } from './erasure.ts'
import { aimText } from './measure.ts'
import { figureText, textTable } from './text-table.ts'

const AIM = { limit: 100, direction: 'at most' } as const

/** A row a size; each erasure is one request, of a person with 1 to 30 events. */
export function reportErasure({ machine, sizes }: ErasureFigures): BenchFindings {
  const rows = sizes.map(size => {
    const p99 = percentile(size, 0.99)
    const label = `${size.erasures.length} people among ${figureText(size.events, 0)} events`
    return [
      label,
      figureText(erasedBy(size), 0),
      figureText(percentile(size, 0.5), 1),
      figureText(p99, 1),
      aimText(AIM, p99),
    ]
  })
  const text = [
    machine,
    'sequential requests over one connection, milliseconds',
    '',
    textTable([['', 'events', 'p50', 'p99', ''], ...rows]),
    '',
    ...growth(sizes),
  ].join('\n')
  return { text, faults: sizes.flatMap(faultsOf) }
}

function percentile({ erasures }: ErasureSize, share: number): number {
  const sorted = erasures.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0
}

function erasedBy({ erasures }: ErasureSize): number {
  return erasures.reduce((sum, { erasedEvents }) => sum + (erasedEvents ?? 0), 0)
}

function growth(sizes: readonly ErasureSize[]): string[] {
  const [smallest, largest] = [sizes[0], sizes.at(-1)]
  if (!smallest || !largest || smallest === largest) return []
  const times = (share: number) =>
    figureText(percentile(largest, share) / percentile(smallest, share), 2)
  return [`p50 grows ${times(0.5)} times, p99 ${times(0.99)} times`]
}

function faultsOf({ events, erasures }: ErasureSize): string[] {
  return erasures
    .filter(erasure => erasure.erasedEvents !== erasure.events)
    .map(
      erasure =>
        `Of a person with ${erasure.events} events among ${events} the receipt says ` +
        `${erasure.erasedEvents}.`,
    )
}
