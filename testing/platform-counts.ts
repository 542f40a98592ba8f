import type { ServiceUnderTest } from './service-under-test.ts'
import { platformTargetOf } from './simulator-controls.ts'

/** Events that somebody else gave the platform; they happen now unless they have a time. */
export interface GivenEvents {
  source: 'server' | 'browser'
  events: { event_name: string; event_id?: string; event_time?: number; count?: number }[]
}

/** Lets somebody else send to the dataset of the first tracker. */
export async function sendAsOthers(
  service: ServiceUnderTest,
  { source, events }: GivenEvents,
): Promise<void> {
  const { datasetId: dataset } = await platformTargetOf(service, service.tracker)
  const now = Math.floor(service.clock.now().getTime() / 1_000)
  const timed = events.map(event => ({ event_time: now, ...event }))
  await post(service, 'other-events', { dataset, source, events: timed })
}

/** How the simulator counts from now on (graph-simulator/README.md). */
export function countAs(service: ServiceUnderTest, options: object): Promise<void> {
  return post(service, 'stats', options)
}

async function post({ simulatorUrl }: ServiceUnderTest, path: string, body: object): Promise<void> {
  const response = await fetch(`${simulatorUrl}/_simulator/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`answered ${response.status}: ${await response.text()}`)
}
