import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { ServiceUnderTest } from './service-under-test.ts'

/** As `POST /path`. Fastify tells of an app when it is made, before anybody adds a route. */
export function routesFromTheStart(test: TestContext): string[] {
  const routes: string[] = []
  const onMade = (message: unknown) => {
    const { fastify } = message as { fastify: ServiceUnderTest['server']['app'] }
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const name of [method].flat()) routes.push(`${name} ${url}`)
    })
  }
  subscribe('fastify.initialization', onMade)
  test.after(() => unsubscribe('fastify.initialization', onMade))
  return routes
}
