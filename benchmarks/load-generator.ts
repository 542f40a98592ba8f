import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { runLoadConnection } from './load-connection.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import { requestTemplate } from './request-template.ts'

/** A program of its own (see run-load.ts): takes one plan, sends it, answers with the result. */
process.once('message', async (plan: LoadPlan) => {
  process.send?.(await generateLoad(plan))
  process.disconnect()
})

interface Tally {
  answers: Record<string, number>
  brokenCount: number
  measuredCount: number
  latencyMicroseconds: RecordableHistogram
}

async function generateLoad(plan: LoadPlan): Promise<LoadResult> {
  const { hostname, port } = new URL(plan.origin)
  const templates = Array.from({ length: plan.connections }, (_, index) =>
    requestTemplate(plan, index),
  )
  const tally: Tally = {
    answers: {},
    brokenCount: 0,
    measuredCount: 0,
    latencyMicroseconds: createHistogram(),
  }
  const startedAt = performance.now()
  const warmUntil = startedAt + plan.warmUpSeconds * 1_000
  const { perSecondMax } = plan
  const pace = perSecondMax !== undefined && {
    dueAt: (count: number) => startedAt + (count * 1_000) / perSecondMax,
  }
  const endsAt = warmUntil + plan.seconds * 1_000
  let count = 0
  const runs = templates.map(template =>
    runLoadConnection({
      host: hostname,
      port: Number(port),
      template,
      nextCount: () => (performance.now() < endsAt ? count++ : null),
      ...pace,
      onAnswer: (status, milliseconds) => {
        tally.answers[status] = (tally.answers[status] ?? 0) + 1
        const now = performance.now()
        if (now < warmUntil || now >= endsAt) return
        if (status.startsWith('2')) tally.measuredCount += 1
        tally.latencyMicroseconds.record(Math.max(1, Math.round(milliseconds * 1_000)))
      },
    }).catch(() => {
      tally.brokenCount += 1
    }),
  )
  await Promise.all(runs)
  return resultOf(plan, tally, templates[0]?.bytes.length ?? 0)
}

function resultOf(plan: LoadPlan, tally: Tally, requestBytes: number): LoadResult {
  const { answers, brokenCount, measuredCount, latencyMicroseconds } = tally
  const { user, system } = process.cpuUsage()
  return {
    eventsPerSecond: measuredCount / plan.seconds,
    p50Milliseconds: latencyMicroseconds.percentile(50) / 1_000,
    p99Milliseconds: latencyMicroseconds.percentile(99) / 1_000,
    maxMilliseconds: latencyMicroseconds.max / 1_000,
    answers,
    brokenCount,
    requestBytes,
    cpuSeconds: (user + system) / 1_000_000,
  }
}
