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
  const phases = startPhases(plan)
  const runs = templates.map((template, index) =>
    runLoadConnection({
      host: hostname,
      port: Number(port),
      template,
      requests: createRequestSequence(plan, phases, index),
      onAnswer: (status, milliseconds, events) => {
        tally.answers[status] = (tally.answers[status] ?? 0) + events
        if (!phases.isMeasured(performance.now())) return
        if (status.startsWith('2')) tally.measuredCount += events
        tally.latencyMicroseconds.record(Math.max(1, Math.round(milliseconds * 1_000)))
      },
    }).catch(() => {
      tally.brokenCount += 1
    }),
  )
  await Promise.all(runs)
  return resultOf(plan, tally, templates[0]?.bytes.length ?? 0)
}

interface Phases {
  /** The number of the next request of all connections, or null when the run is over. */
  nextNumber(): number | null
  /** When to send the request of this number, on the clock of `performance`. */
  dueAt(number: number): number
  isMeasured(now: number): boolean
}

/** The warm-up, which lasts for a time and a number of requests, and the measurement. */
function startPhases({ warmUpSeconds, warmUpRequests = 0, seconds, perSecondMax }: LoadPlan) {
  const startedAt = performance.now()
  const earliest = startedAt + warmUpSeconds * 1_000
  let measuredFrom = warmUpRequests === 0 ? earliest : Number.POSITIVE_INFINITY
  let count = 0
  const endsAt = () => measuredFrom + seconds * 1_000
  const phases: Phases = {
    nextNumber: () => {
      const now = performance.now()
      if (measuredFrom > now && now >= earliest && count >= warmUpRequests) measuredFrom = now
      return now < endsAt() ? count++ : null
    },
    dueAt: number =>
      perSecondMax === undefined ? performance.now() : startedAt + (number * 1_000) / perSecondMax,
    isMeasured: now => now >= measuredFrom && now < endsAt(),
  }
  return phases
}

interface PlannedRequest {
  /** The number of its purchase. */
  purchase: number
  /** When to send it, on the clock of `performance`. */
  dueAt: number
}

interface RequestSequence {
  /** Null when the run is over. */
  next(): PlannedRequest | null
  acknowledge(purchase: number): void
}

/** Purchases of one connection that may be repeated. */
const REPEATABLE_MAX = 1_000
/** An odd factor spreads the numbers of requests over all percentages and all purchases. */
const SPREAD = 0x9e3779b1
const PERCENT = 100

/** New purchases, and repetitions of this connection's own acknowledged ones. */
function createRequestSequence(
  { duplicatePercent = 0 }: LoadPlan,
  phases: Phases,
  connection: number,
): RequestSequence {
  const acknowledged: number[] = []
  let acknowledgedCount = 0
  const isRepetition = (spread: number) =>
    spread % PERCENT < duplicatePercent &&
    acknowledged.length > 0 &&
    phases.isMeasured(performance.now())
  return {
    next: () => {
      const number = phases.nextNumber()
      if (number === null) return null
      const spread = Math.imul(number + connection, SPREAD) >>> 0
      const chosen = Math.floor(spread / PERCENT) % acknowledged.length
      const repeated = isRepetition(spread) ? acknowledged[chosen] : undefined
      return { purchase: repeated ?? number, dueAt: phases.dueAt(number) }
    },
    acknowledge: purchase => {
      if (duplicatePercent > 0) acknowledged[acknowledgedCount++ % REPEATABLE_MAX] = purchase
    },
  }
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
  requests: RequestSequence
  /** `events` are those that were stored, or 1 for a request of one event. */
  onAnswer: (status: string, milliseconds: number, events: number) => void
}

const STATUS_AT = 'HTTP/1.1 '.length
const HEADER_END = Buffer.from('\r\n\r\n')
const LENGTH_HEADER = Buffer.from('content-length: ')
const LENGTH_DIGITS_MAX = 10
const LAST_CHUNK = '0\r\n\r\n'

/**
 * One keep-alive connection with one request in flight. It parses just enough HTTP for our own
 * responses, which have a length, because Node's client uses too much CPU. The latency of a late
 * request counts from the time it was due.
 * Resolves when the run is over; rejects when the connection breaks or the response is not HTTP.
 */
function runLoadConnection(options: LoadConnectionOptions): Promise<void> {
  const { port, host, template, requests, onAnswer } = options
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true })
    let sentAt = 0
    let purchase = 0
    let received: Buffer | null = null

    const sendNext = () => {
      const request = requests.next()
      if (request === null) {
        socket.end()
        resolve()
        return
      }
      purchase = request.purchase
      sentAt = request.dueAt
      const wait = request.dueAt - performance.now()
      if (wait > 0) setTimeout(send, wait)
      else send()
    }
    const send = () => {
      template.renew(purchase)
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
      const answered = bytes.toString('latin1', STATUS_AT, STATUS_AT + 3)
      const stored = template.events > 1 && answered === '200' ? countStored(bytes) : null
      const status = stored === null || stored < template.events ? answered : STORED
      onAnswer(status, performance.now() - sentAt, stored ?? 1)
      if (status.startsWith('2')) requests.acknowledge(purchase)
      sendNext()
    })
    rejectWhenBroken(socket, reject)
  })
}

const STORED = '202'
const STORED_RESULT = Buffer.from(`"status":${STORED}`)

/** The results of a batch that say 202. */
function countStored(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(STORED_RESULT); at >= 0; count += 1) {
    at = bytes.indexOf(STORED_RESULT, at + 1)
  }
  return count
}

/** The length of a response: infinite until its headers arrive, null if they lack it. */
function readResponseLength(bytes: Buffer): number | null {
  const headerEnd = bytes.indexOf(HEADER_END)
  if (headerEnd < 0) return Number.POSITIVE_INFINITY
  const at = bytes.indexOf(LENGTH_HEADER)
  if (at < 0 || at > headerEnd) return readForeignLength(bytes, headerEnd + HEADER_END.length)
  const digits = at + LENGTH_HEADER.length
  const length = Number.parseInt(bytes.toString('latin1', digits, digits + LENGTH_DIGITS_MAX), 10)
  return headerEnd + HEADER_END.length + length
}

/** The same for servers that spell their headers otherwise, or send a body in chunks. */
function readForeignLength(bytes: Buffer, bodyAt: number): number | null {
  const head = bytes.toString('latin1', 0, bodyAt)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return bodyAt + Number(length)
  if (/^HTTP\/1\.1 (?:204|304) /.test(head)) return bodyAt
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return null
  const isWhole = bytes.toString('latin1', bodyAt).endsWith(LAST_CHUNK)
  return isWhole ? bytes.length : Number.POSITIVE_INFINITY
}

function rejectWhenBroken(socket: Socket, reject: (error: Error) => void): void {
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('the connection was closed during the run')))
}
