import { guarded } from './guarded.ts'
import type { Callback } from './tag-state.ts'
import type { Report } from './transport.ts'

/** Tells the page's callback, and the console when the service said no. */
export function reportTo(event_id: string, callback: Callback | undefined): Report {
  return (outcome, status) => {
    if (outcome === 'refused') console.warn('signalbox', event_id, outcome, status)
    if (callback) guarded(() => callback({ event_id, outcome, status }))
  }
}
