import type { ServiceApp } from '../service/http/service-app.ts'

export interface RegisteredRoute {
  method: string
  url: string
}

/** Every route that the app has from now on; to be called before it listens. */
export function registeredRoutes(app: ServiceApp): RegisteredRoute[] {
  const routes: RegisteredRoute[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) routes.push({ method: name, url })
  })
  return routes
}
