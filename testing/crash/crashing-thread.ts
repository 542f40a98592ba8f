import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isMainThread, threadId } from 'node:worker_threads'

/**
 * Preloaded into the real program (`NODE_OPTIONS=--import ...`): every response names its thread,
 * and a request can crash its thread as a bug or a memory leak would.
 */
export const CRASHING_THREAD_ENVIRONMENT = { NODE_OPTIONS: `--import ${import.meta.url}` }

const HOARD_BYTES = 1_000_000

subscribe('http.server.request.start', message => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
  response.setHeader('x-test-thread', String(threadId))
  if (isMainThread) return
  const failure = request.headers['x-test-failure']
  if (failure === 'crash') setImmediate(throwUncaught)
  if (failure === 'exhaust') setImmediate(exhaustHeap)
})

function throwUncaught(): never {
  throw new Error('an uncaught bug')
}

function exhaustHeap(): void {
  const hoard: number[][] = []
  for (;;) hoard.push(new Array(HOARD_BYTES / 8).fill(hoard.length))
}
