import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Reply, TestService } from '../fixtures/service.ts'
import { listMembers } from './boundary-values.ts'
import { type FuzzAccounts, findVisibleTracker, listForeignTrackers } from './fuzz-accounts.ts'
import type { DocumentOperation } from './openapi-operations.ts'
import { arbitraryFuzzRequest, type FuzzRequest } from './request-generator.ts'
import {
  buildRequest,
  formatCurlCommand,
  type KeepAliveConnections,
  openKeepAliveConnections,
} from './request-sender.ts'
import { findOperation, findResponseProblems } from './response-checks.ts'

interface FuzzOptions {
  service: TestService
  operations: readonly DocumentOperation[]
  /** One per caller, which is also the number of concurrent requests. */
  accounts: readonly FuzzAccounts[]
  /** Texts that no response may contain. */
  secrets: readonly string[]
  seed: number
}

/** The results of a run so far. */
export interface FuzzResult {
  coverage: StatusCoverage
  /** Events that a response reported as stored, as `tracker event`. */
  acknowledged: Set<string>
  /** Responses and results of batches with 202, each of which acknowledges a new event. */
  acceptedCount: number
  failures: string[]
}

interface Fuzzer {
  result: FuzzResult
  /** The total number of requests. */
  run(cases: number): Promise<void>
  close(): void
}

const SHRINKS_MAX = 500

/**
 * Concurrent callers, each of which sends one request at a time. Each has its own keys and seed, so
 * that its responses do not depend on other callers.
 */
export function createFuzzer(run: FuzzOptions): Fuzzer {
  const { service, accounts: casts, seed } = run
  const connections = openKeepAliveConnections(service.url, casts.length)
  const requests = arbitraryRequest(run.operations)
  const fuzzResult: FuzzResult = {
    coverage: new StatusCoverage(),
    acknowledged: new Set(),
    acceptedCount: 0,
    failures: [],
  }
  let round = 0
  let hasFailed = false

  const playCaller = async (fuzzAccounts: FuzzAccounts, numRuns: number, ownSeed: number) => {
    let shrinks = 0
    let isFailing = false
    const property = fc.asyncProperty(requests, async request => {
      // A failed request is retried in simpler forms; the other callers stop.
      if (isFailing ? ++shrinks > SHRINKS_MAX : hasFailed) return
      const faults = await sendAndCheck(request, { ...run, connections, fuzzAccounts, fuzzResult })
      if (faults.length === 0) return
      hasFailed = true
      isFailing = true
      throw new Error(faults.join('\n'))
    })
    const { failed, errorInstance } = await fc.check(property, { numRuns, seed: ownSeed })
    if (failed)
      fuzzResult.failures.push(errorInstance instanceof Error ? errorInstance.message : '')
  }

  const runRequests = async (cases: number) => {
    round += 1
    const seedOf = (caller: number) => Math.imul(seed, 1_000_003) + round * 1_009 + caller
    await Promise.all(
      casts.map((fuzzAccounts, at) =>
        playCaller(fuzzAccounts, Math.ceil(cases / casts.length), seedOf(at) | 0),
      ),
    )
  }
  return { result: fuzzResult, run: runRequests, close: connections.close }
}

const WEIGHT_MAX = 20

/** Operations with larger bodies get more requests. */
function arbitraryRequest(operations: readonly DocumentOperation[]): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(
    ...operations.map(operation => ({
      weight: computeWeight(operation),
      arbitrary: arbitraryFuzzRequest(operation),
    })),
  )
}

function computeWeight({ address, body }: DocumentOperation): number {
  if (address === null) return 1
  return body === null ? 3 : Math.min(WEIGHT_MAX, 4 + listMembers(body).length)
}

interface RequestContext extends FuzzOptions {
  connections: KeepAliveConnections
  fuzzAccounts: FuzzAccounts
  fuzzResult: FuzzResult
}

async function sendAndCheck(request: FuzzRequest, exchange: RequestContext): Promise<string[]> {
  const { service, operations, fuzzAccounts, connections, fuzzResult } = exchange
  const sent = buildRequest(request, fuzzAccounts, service.clock.now())
  const line = formatCurlCommand(request, sent)
  let reply: Reply
  try {
    reply = await connections.send(sent)
  } catch (error) {
    return [`no answer: ${error}`, line]
  }
  const operation = findOperation(sent, operations)
  fuzzResult.coverage.record(operation?.operationId ?? 'nothing there', reply.status)
  recordAcknowledgement(request, { reply, fuzzAccounts, fuzzResult })
  const foreignIds = listForeignTrackers(fuzzAccounts, request.credential).flatMap(
    ({ trackerId, destinationId }) => [trackerId, destinationId],
  )
  const faults = findResponseProblems({
    sent,
    reply,
    operations,
    secrets: exchange.secrets,
    foreignIds,
  })
  return faults.length === 0
    ? []
    : [...faults, line, `answer: ${reply.status} ${truncateBody(reply)}`]
}

function recordAcknowledgement(
  { credential }: FuzzRequest,
  {
    reply,
    fuzzAccounts,
    fuzzResult,
  }: { reply: Reply; fuzzAccounts: FuzzAccounts; fuzzResult: FuzzResult },
): void {
  const { status, body } = reply
  const tracker = findVisibleTracker(fuzzAccounts, credential)
  if (tracker === null || body?.persisted === false) return
  const isBatch = status === 200 && Array.isArray(body?.results)
  for (const { event_id, status: own } of isBatch ? body.results : [{ ...body, status }]) {
    if (typeof event_id !== 'string') continue
    fuzzResult.acknowledged.add(`${tracker.trackerId} ${event_id}`)
    if (own === 202) fuzzResult.acceptedCount += 1
  }
}

function truncateBody({ text }: Reply): string {
  return text.slice(0, 1_000)
}

/** The number of responses by operation and status. */
class StatusCoverage {
  readonly #counts = new Map<string, Map<number, number>>()

  record(operationId: string, status: number): void {
    const statuses = this.#counts.get(operationId) ?? new Map<number, number>()
    this.#counts.set(operationId, statuses)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  get total(): number {
    return [...this.#counts.values()].flatMap(statuses => [...statuses.values()]).reduce(sum, 0)
  }

  countsOf(operationId: string): ReadonlyMap<number, number> {
    return this.#counts.get(operationId) ?? new Map()
  }

  /** One line per operation, in alphabetical order. */
  toLines(): string[] {
    return [...this.#counts]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([operationId, statuses]) => {
        const inOrder = [...statuses].toSorted(([one], [other]) => one - other)
        const counts = inOrder.map(([status, count]) => `${status} × ${count}`)
        return `${operationId}: ${counts.join(', ')}`
      })
  }
}

function sum(one: number, other: number): number {
  return one + other
}

/** The heap that a process uses after garbage collection. */
export interface ProcessFootprint {
  /** Objects on the heap, and buffers outside of it. */
  heldBytes: number
  /** Sockets, timers and other resources that keep the process running, by kind. */
  resources: ReadonlyMap<string, number>
}

export function measureFootprint(): ProcessFootprint {
  collectGarbage()
  const resources = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) {
    resources.set(kind, (resources.get(kind) ?? 0) + 1)
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heldBytes: heapUsed + arrayBuffers, resources }
}

/** Node exposes its garbage collector only with a startup flag, or this way. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
}
