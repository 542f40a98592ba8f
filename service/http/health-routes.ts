import { recordRefusalReason } from './request-log.ts'
import type { ServiceApp } from './service-app.ts'

/** One thing that must work before traffic is sent here. Throws a sentence when it does not. */
export interface ReadinessCheck {
  name: string
  check: () => Promise<void>
}

export interface HealthOptions {
  checks: readonly ReadinessCheck[]
  /** Why the process takes no traffic for now, such as `start` or `shutdown`; null when it does. */
  pauseReason: () => string | null
  /**
   * How many lanes are in which state, where the process delivers. It is shown and decides nothing:
   * one tracker's dead platform must not take the service from all others.
   */
  circuits?: () => Counts | Promise<Counts>
}

type Counts = Readonly<Record<string, number>>

/**
 * `/livez`: the process answers; it asks nothing else, so that a store that is down does not get
 * the process restarted. `/readyz`: everything works; 503 with the names of what does not.
 */
export function healthRoutes(
  app: ServiceApp,
  { checks, pauseReason: pause, circuits }: HealthOptions,
): void {
  const config = { credential: 'none' } as const

  app.get('/livez', { config }, async () => ({ status: 'ok' }))

  app.get('/readyz', { config }, async (request, reply) => {
    const results = await Promise.all(checks.map(runCheck))
    const failed = results.filter(({ status }) => status !== 'ok').map(({ name }) => name)
    const reason = pause()
    if (reason !== null) failed.push(reason)
    const status = failed.length === 0 ? 'ok' : 'unavailable'
    const body = { status, failed, ...(circuits && { circuits: await circuits() }) }
    if (failed.length === 0) return reply.code(200).send(body)
    recordRefusalReason(request, `not_ready:${failed.join(',')}`)
    return reply.code(503).header('retry-after', '2').send(body)
  })
}

async function runCheck({
  name,
  check,
}: ReadinessCheck): Promise<{ name: string; status: string }> {
  try {
    await check()
    return { name, status: 'ok' }
  } catch {
    return { name, status: 'failed' }
  }
}
