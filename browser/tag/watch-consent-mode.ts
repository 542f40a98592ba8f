import type { ConsentSignal } from './consent-basis.ts'
import { guarded } from './guarded.ts'
import type { Page } from './page.ts'

const ADVERTISING = ['ad_storage', 'ad_user_data', 'ad_personalization']

type Values = Record<string, unknown>

/** An `arguments` object, which is no array. */
type GtagCall = { 0?: string; 1?: string; 2?: Values }

/**
 * Hears gtag('consent', 'default' | 'update', ...) in the page's dataLayer, what was said before
 * and what is said later, and gives the state at any moment (domain reference, section E).
 *
 * A default that denies is the state before the question: it waits for an update. A default that
 * grants counts, unless it is for a region (the tag does not know where the visitor is), announces
 * an update, or stands beside one that denies.
 */
export function watchConsentMode(page: Page, onChange: () => void): () => ConsentSignal {
  const defaults: Values = {}
  const updates: Values = {}

  function hear(entry: unknown): void {
    const { 0: command, 1: kind, 2: values = {} } = (entry || {}) as GtagCall
    if (command !== 'consent') return
    for (const name of ADVERTISING) {
      const value = values[name]
      if (!value) continue
      if (kind === 'update') updates[name] = value
      if (kind !== 'default') continue
      const isFirm = !(values.region || values.wait_for_update || defaults[name])
      if (isFirm || value === 'denied') defaults[name] = value
    }
  }

  page.dataLayer = page.dataLayer || []
  const layer = page.dataLayer
  const hearAll = (entries: unknown[]) => {
    for (const entry of entries) guarded(() => hear(entry))
  }
  hearAll(layer)
  const push = layer.push
  layer.push = (...entries) => {
    const length = push.apply(layer, entries)
    hearAll(entries)
    guarded(onChange)
    return length
  }

  return () => stateOf({ ...defaults, ...updates }, Object.values(updates).includes('denied'))
}

function stateOf(values: Values, isRefused: boolean): ConsentSignal {
  const spoken = Object.values(values)
  if (isRefused) return { state: 'denied' }
  const isGranted = values.ad_storage === 'granted' && values.ad_user_data === 'granted'
  if (isGranted && !spoken.includes('denied')) {
    return { state: 'granted', evidence: { consent_mode: values } }
  }
  return spoken[0] ? { state: 'waiting' } : {}
}
