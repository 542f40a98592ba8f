import { findStoreFailureCause, type StoreFailureCause } from '../db/database-errors.ts'
import { recordRefusalReason } from './request-log.ts'
import type { ServiceApp } from './service-app.ts'

/** A dependency that must work before the process accepts traffic. Throws when it does not. */
export interface ReadinessCheck {
  name: string
  check: () => Promise<void>
}

export interface HealthOptions {
  checks: readonly ReadinessCheck[]
  /** Why the process takes no traffic, such as `start` or `shutdown`; null when it does. */
  pauseReason: () => string | null
  /**
   * The number of destination queues in each circuit state, when the process delivers. It does not
   * affect readiness: one tracker's unreachable platform must not stop the service for all others.
   */
  circuits?: () => Counts | Promise<Counts>
}

type Counts = Readonly<Record<string, number>>

/**
 * `/livez`: the process responds. It checks nothing else, so that an unavailable store does not
 * restart the process. `/readyz`: all checks pass; otherwise 503 with the names of those that fail,
 * and in `causes` why the store makes them fail, such as `disk_full`.
 */
export function healthRoutes(
  app: ServiceApp,
  { checks, pauseReason, circuits }: HealthOptions,
): void {
  const config = { credential: 'none' } as const

  app.get('/livez', { config }, async () => ({ status: 'ok' }))

  app.get('/readyz', { config }, async (request, reply) => {
    const results = await Promise.all(checks.map(runCheck))
    const failed = results.filter(({ status }) => status !== 'ok').map(({ name }) => name)
    const causes = Object.fromEntries(
      results.flatMap(({ name, cause }) => (cause === null ? [] : [[name, cause]])),
    )
    const withCause = (name: string) => (causes[name] ? `${name}:${causes[name]}` : name)
    const reason = pauseReason()
    if (reason !== null) failed.push(reason)
    const status = failed.length === 0 ? 'ok' : 'unavailable'
    const body = {
      status,
      failed,
      ...(Object.keys(causes).length > 0 && { causes }),
      ...(circuits && { circuits: await circuits() }),
    }
    if (failed.length === 0) return reply.code(200).send(body)
    recordRefusalReason(request, `not_ready:${failed.map(withCause).join(',')}`)
    return reply.code(503).header('retry-after', '2').send(body)
  })
}

interface CheckResult {
  name: string
  status: 'ok' | 'failed'
  cause: StoreFailureCause | null
}

async function runCheck({ name, check }: ReadinessCheck): Promise<CheckResult> {
  try {
    await check()
    return { name, status: 'ok', cause: null }
  } catch (error) {
    return { name, status: 'failed', cause: findRootCause(error) }
  }
}

/** A check may wrap the error of the store. */
function findRootCause(error: unknown): StoreFailureCause | null {
  return findStoreFailureCause(error) ?? findStoreFailureCause((error as { cause?: unknown }).cause)
}
