import fc from 'fast-check'
import type { Reply, ServiceUnderTest } from '../service-under-test.ts'
import { answerFaults, operationOf } from './answer-faults.ts'
import type { DocumentOperation } from './document-operations.ts'
import { memberPlaces } from './edge-values.ts'
import { type FuzzCast, speaksFor, strangersTo } from './fuzz-cast.ts'
import { type FuzzRequest, fuzzRequests } from './fuzz-requests.ts'
import { type KeptConnections, keptConnections } from './kept-connections.ts'
import { curlLine, sentRequest } from './sent-requests.ts'
import { StatusCoverage } from './status-coverage.ts'

export interface FuzzRun {
  service: ServiceUnderTest
  operations: readonly DocumentOperation[]
  /** One a caller; so many requests are under way at once. */
  casts: readonly FuzzCast[]
  /** Texts that nobody may see, whoever asks. */
  secrets: readonly string[]
  seed: number
}

/** What became of a run so far. */
export interface FuzzStory {
  coverage: StatusCoverage
  /** Events that an answer said are stored, as `tracker event`. */
  acknowledged: Set<string>
  /** Answers 202: each one promises an event that was not there before. */
  acceptedCount: number
  failures: string[]
}

export interface FuzzCallers {
  story: FuzzStory
  /** Sends so many requests in all. */
  play(cases: number): Promise<void>
  close(): void
}

const SHRINKS_MAX = 500

/**
 * Callers that send one request after the other, all at the same time. Each has keys of its own and
 * its own seed, so that what a caller is answered does not depend on the others.
 */
export function fuzzCallers(run: FuzzRun): FuzzCallers {
  const { service, casts, seed } = run
  const connections = keptConnections(service.url, casts.length)
  const requests = anyRequest(run.operations)
  const story: FuzzStory = {
    coverage: new StatusCoverage(),
    acknowledged: new Set(),
    acceptedCount: 0,
    failures: [],
  }
  let round = 0
  let hasFailed = false

  const playCaller = async (cast: FuzzCast, numRuns: number, ownSeed: number) => {
    let shrinks = 0
    let isFailing = false
    const property = fc.asyncProperty(requests, async request => {
      // What failed is tried in simpler forms, a while; the other callers need not go on.
      if (isFailing ? ++shrinks > SHRINKS_MAX : hasFailed) return
      const faults = await faultsOf(request, { ...run, connections, cast, story })
      if (faults.length === 0) return
      hasFailed = true
      isFailing = true
      throw new Error(faults.join('\n'))
    })
    const { failed, errorInstance } = await fc.check(property, { numRuns, seed: ownSeed })
    if (failed) story.failures.push(errorInstance instanceof Error ? errorInstance.message : '')
  }

  const play = async (cases: number) => {
    round += 1
    const seedOf = (caller: number) => Math.imul(seed, 1_000_003) + round * 1_009 + caller
    await Promise.all(
      casts.map((cast, at) => playCaller(cast, Math.ceil(cases / casts.length), seedOf(at) | 0)),
    )
  }
  return { story, play, close: connections.close }
}

const WEIGHT_MAX = 20

/** The more a body can say, the more often an operation is asked. */
function anyRequest(operations: readonly DocumentOperation[]): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(
    ...operations.map(operation => ({
      weight: weightOf(operation),
      arbitrary: fuzzRequests(operation),
    })),
  )
}

function weightOf({ address, body }: DocumentOperation): number {
  if (address === null) return 1
  return body === null ? 3 : Math.min(WEIGHT_MAX, 4 + memberPlaces(body).length)
}

interface Meeting extends FuzzRun {
  connections: KeptConnections
  cast: FuzzCast
  story: FuzzStory
}

async function faultsOf(request: FuzzRequest, meeting: Meeting): Promise<string[]> {
  const { service, operations, cast, connections, story } = meeting
  const sent = sentRequest(request, cast, service.clock.now())
  const line = curlLine(request, sent)
  let reply: Reply
  try {
    reply = await connections.send(sent)
  } catch (error) {
    return [`no answer: ${error}`, line]
  }
  const operation = operationOf(sent, operations)
  story.coverage.note(operation?.operationId ?? 'nothing there', reply.status)
  noteAcknowledgement(request, { reply, cast, story })
  const foreignIds = strangersTo(cast, request.credential).flatMap(
    ({ trackerId, destinationId }) => [trackerId, destinationId],
  )
  const faults = answerFaults({ sent, reply, operations, secrets: meeting.secrets, foreignIds })
  return faults.length === 0 ? [] : [...faults, line, `answer: ${reply.status} ${shown(reply)}`]
}

function noteAcknowledgement(
  { credential }: FuzzRequest,
  { reply, cast, story }: { reply: Reply; cast: FuzzCast; story: FuzzStory },
): void {
  const { status, body } = reply
  const tracker = speaksFor(cast, credential)
  if (tracker === null || typeof body?.event_id !== 'string' || body.persisted === false) return
  story.acknowledged.add(`${tracker.trackerId} ${body.event_id}`)
  if (status === 202) story.acceptedCount += 1
}

function shown({ text }: Reply): string {
  return text.slice(0, 1_000)
}
