import { appendFileSync } from 'node:fs'

/** One answer that a test got from the service: method, path and status. */
export interface ContractResponse {
  method: string
  path: string
  status: number
}

/** Names the file in which a run collects its answers; unset when they are not collected. */
export const RESPONSES_FILE = 'SIGNALBOX_TEST_ANSWERS'

const recorded = new Set<string>()

/** Test files run in processes of their own, so each answer is a line in a file of the run. */
export function recordResponse({ method, path, status }: ContractResponse): void {
  const file = process.env[RESPONSES_FILE]
  const line = `${JSON.stringify({ method, path: path.split('?', 1)[0], status })}\n`
  if (!file || recorded.has(line)) return
  recorded.add(line)
  appendFileSync(file, line)
}

export function parseResponses(lines: string): ContractResponse[] {
  return lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

type Paths = Record<string, Record<string, DescribedOperation>>

interface DescribedOperation {
  operationId: string
  responses: Record<string, unknown>
}

/**
 * What a document and a run's answers do not have in common, one sentence each: a status that no
 * test has seen is an unverified promise, and one that is not documented surprises a client.
 */
export function findCoverageGaps(paths: Paths, answers: readonly ContractResponse[]): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, responses }]) => {
      const pattern = toPathPattern(path)
      const reached = answers
        .filter(answer => answer.method === method.toUpperCase() && pattern.test(answer.path))
        .map(({ status }) => String(status))
      const documented = new Set(Object.keys(responses))
      const unreached = [...documented.difference(new Set(reached))]
      const surprising = [...new Set(reached).difference(documented)]
      return [
        ...unreached.map(status => `No test reached ${status} of ${operationId}.`),
        ...surprising.map(status => `A test met ${status} of ${operationId}: document it.`),
      ]
    }),
  )
}

function toPathPattern(path: string): RegExp {
  const parts = path.split('/').map(part => (part.startsWith('{') ? '[^/]+' : RegExp.escape(part)))
  return new RegExp(`/api/v1${parts.join('/')}$`)
}
