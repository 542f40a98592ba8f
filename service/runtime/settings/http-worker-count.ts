import type { Settings } from './settings.ts'

/** Beyond this, more workers only make smaller commits. */
const DEFAULT_MAX = 8
/** The smallest pool that serves reads during a commit. */
const CONNECTIONS_MIN = 4

/** The number of HTTP worker threads. 0: the main thread serves HTTP, as it does on one core. */
export function countHttpWorkers(
  { httpWorkers }: Pick<Settings, 'httpWorkers'>,
  { cores, canReusePort }: { cores: number; canReusePort: boolean },
): number {
  if (cores <= 1) return 0
  const wanted = httpWorkers ?? Math.min(DEFAULT_MAX, Math.max(1, cores - 1))
  return canReusePort ? wanted : Math.min(1, wanted)
}

/** Each worker's share of the database connections of the process. */
export function divideConnections(connectionsMax: number, workers: number): number {
  return Math.max(CONNECTIONS_MIN, Math.ceil(connectionsMax / workers))
}

/** The database connections of all threads that serve HTTP. */
export function countHttpConnections(connectionsMax: number, workers: number): number {
  return workers === 0 ? connectionsMax : workers * divideConnections(connectionsMax, workers)
}
