import { connect, type Socket } from 'node:net'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { createRequestTemplate, type RequestTemplate } from './purchase-request.ts'
import type { LoadPlan, LoadResult } from './run-load.ts'

/** A separate program (see run-load.ts): receives a plan, sends the load, returns the result. */
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
    createRequestTemplate(plan, index),
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

interface LoadConnectionOptions {
  port: number
  host: string
  template: RequestTemplate
  /** The number of the next purchase, or null when the run is over. */
  nextCount: () => number | null
  /** When to send a purchase, if not immediately, on the clock of `performance`. */
  dueAt?: (count: number) => number
  onAnswer: (status: string, milliseconds: number) => void
}

const STATUS_AT = 'HTTP/1.1 '.length
const HEADER_END = Buffer.from('\r\n\r\n')
const LENGTH_HEADER = Buffer.from('content-length: ')
const LENGTH_DIGITS_MAX = 10

/**
 * One keep-alive connection with one request in flight. It parses just enough HTTP for our own
 * responses, which have a length, because Node's client uses too much CPU. The latency of a late
 * request counts from the time it was due.
 * Resolves when the run is over; rejects when the connection breaks or the response is not HTTP.
 */
function runLoadConnection(options: LoadConnectionOptions): Promise<void> {
  const { port, host, template, nextCount, dueAt, onAnswer } = options
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true })
    let sentAt = 0
    let received: Buffer | null = null

    const sendNext = () => {
      const count = nextCount()
      if (count === null) {
        socket.end()
        resolve()
        return
      }
      const at = dueAt?.(count) ?? performance.now()
      const wait = at - performance.now()
      if (wait > 0) setTimeout(send, wait, count, at)
      else send(count, at)
    }
    const send = (count: number, at: number) => {
      template.renew(count)
      sentAt = at
      socket.write(template.bytes)
    }
    socket.on('connect', sendNext)
    socket.on('data', chunk => {
      const bytes: Buffer = received ? Buffer.concat([received, chunk]) : chunk
      const length = readResponseLength(bytes)
      if (length === null) {
        socket.destroy(new Error('a response has no content length'))
        return
      }
      received = bytes.length < length ? bytes : null
      if (received) return
      onAnswer(bytes.toString('latin1', STATUS_AT, STATUS_AT + 3), performance.now() - sentAt)
      sendNext()
    })
    rejectWhenBroken(socket, reject)
  })
}

/** The length of a response: infinite until its headers arrive, null if they lack it. */
function readResponseLength(bytes: Buffer): number | null {
  const headerEnd = bytes.indexOf(HEADER_END)
  if (headerEnd < 0) return Number.POSITIVE_INFINITY
  const at = bytes.indexOf(LENGTH_HEADER)
  if (at < 0 || at > headerEnd) return null
  const digits = at + LENGTH_HEADER.length
  const length = Number.parseInt(bytes.toString('latin1', digits, digits + LENGTH_DIGITS_MAX), 10)
  return headerEnd + HEADER_END.length + length
}

function rejectWhenBroken(socket: Socket, reject: (error: Error) => void): void {
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('the connection was closed during the run')))
}
