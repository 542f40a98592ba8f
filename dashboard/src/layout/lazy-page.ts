import { lazyRouteComponent } from '@tanstack/react-router'
import { waitForService } from '../api/connection.ts'

/**
 * A page whose script loads with its first use. While the service is away the frame waits for it:
 * without this, the router loads the document anew and the browser shows its own error page.
 */
export function lazyPage<
  Module extends Record<string, unknown>,
  Name extends keyof Module & string,
>(load: () => Promise<Module>, name: Name) {
  return lazyRouteComponent(() => load().catch(() => loadWhenBack(load)) as never, name as never)
}

async function loadWhenBack<Module>(load: () => Promise<Module>): Promise<Module> {
  await waitForService()
  try {
    return await load()
  } catch {
    // The service is there and the script is not: the dashboard has been built anew.
    location.reload()
    return new Promise<Module>(() => {})
  }
}
