import { type Page, runSafely, type TcData } from './page.ts'

/** The state of one consent source; without a state it is absent or has not reported yet. */
export interface ConsentSignal {
  state?: 'granted' | 'denied' | 'waiting'
  /** The event members that prove it. */
  evidence?: object
}

type ConsentBasis = NonNullable<ConsentSignal['state']>

/**
 * Reduces all sources to one basis. Any denial denies, Global Privacy Control included. Otherwise
 * the first source with a state decides: the page, then TCF, then Consent Mode, whose defaults are
 * not the visitor's choice and must not override a banner that is still open.
 */
export function resolveConsentBasis(signals: ConsentSignal[], isOptedOut: boolean): ConsentBasis {
  const states = signals.map(({ state }) => state)
  if (isOptedOut || states.includes('denied')) return 'denied'
  return states.find(Boolean) || 'waiting'
}

const ADVERTISING_PURPOSES = ['ad_storage', 'ad_user_data', 'ad_personalization']

type Values = Record<string, unknown>

/** An `arguments` object, which is not an array. */
type GtagCall = { 0?: string; 1?: string; 2?: Values }

/**
 * Watches gtag('consent', 'default' | 'update', ...) calls in the page's dataLayer, earlier and
 * later ones, and returns a function that reads the current state.
 *
 * A denying default is the state before the visitor's choice: it waits for an update. A granting
 * default counts unless it is for a region (the tag does not know the visitor's location),
 * announces an update, or comes with a denying one.
 */
export function watchConsentMode(page: Page, onChange: () => void): () => ConsentSignal {
  const defaults: Values = {}
  const updates: Values = {}

  function readCall(entry: unknown): void {
    const { 0: command, 1: kind, 2: values = {} } = (entry || {}) as GtagCall
    if (command !== 'consent') return
    for (const name of ADVERTISING_PURPOSES) {
      const value = values[name]
      if (!value) continue
      if (kind === 'update') updates[name] = value
      if (kind !== 'default') continue
      const isFinal = !(values.region || values.wait_for_update || defaults[name])
      if (isFinal || value === 'denied') defaults[name] = value
    }
  }

  page.dataLayer = page.dataLayer || []
  const layer = page.dataLayer
  const readCalls = (entries: unknown[]) => {
    for (const entry of entries) runSafely(() => readCall(entry))
  }
  readCalls(layer)
  const push = layer.push
  layer.push = (...entries) => {
    const length = push.apply(layer, entries)
    readCalls(entries)
    runSafely(onChange)
    return length
  }

  return () =>
    toConsentSignal({ ...defaults, ...updates }, Object.values(updates).includes('denied'))
}

function toConsentSignal(values: Values, isDenied: boolean): ConsentSignal {
  const states = Object.values(values)
  if (isDenied) return { state: 'denied' }
  const isGranted = values.ad_storage === 'granted' && values.ad_user_data === 'granted'
  if (isGranted && !states.includes('denied')) {
    return { state: 'granted', evidence: { consent_mode: values } }
  }
  return states[0] ? { state: 'waiting' } : {}
}

/**
 * Watches the page's TCF consent platform, if any, and returns a function that reads its state.
 * Granted: consent to purposes 1 (where required), 3, 4 and 7, or gdprApplies is false. While the
 * dialog is open, the last state remains.
 */
export function watchTcf(page: Page, onChange: () => void): () => ConsentSignal {
  let signal: ConsentSignal = {}
  let isListening = false

  function onTcfEvent(data: TcData, isSuccess: boolean): void {
    if (!isSuccess) return
    const { eventStatus } = data
    if (data.gdprApplies === false) signal = { state: 'granted' }
    else if (eventStatus === 'tcloaded' || eventStatus === 'useractioncomplete')
      signal = readTcData(data)
    onChange()
  }

  return () => {
    // The platform may load after the tag, so every read looks for it.
    if (!isListening && page.__tcfapi) {
      isListening = true
      signal = { state: 'waiting' }
      page.__tcfapi('addEventListener', 2, onTcfEvent)
    }
    return signal
  }
}

function readTcData({
  tcString,
  eventStatus,
  purposeOneTreatment,
  purpose: { consents = {} } = {},
}: TcData): ConsentSignal {
  const mayStore = consents[1] || purposeOneTreatment
  if (!(mayStore && consents[3] && consents[4] && consents[7])) return { state: 'denied' }
  const tcf: Record<string, unknown> = { string: tcString }
  // A loaded string contains its own creation day.
  if (eventStatus === 'useractioncomplete') tcf.captured_at = new Date().toISOString()
  return { state: 'granted', evidence: { tcf } }
}
