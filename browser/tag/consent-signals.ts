import { type Page, runSafely, type TcData } from './page.ts'

/** What one source of consent says; without a state it is not there or has said nothing. */
export interface ConsentSignal {
  state?: 'granted' | 'denied' | 'waiting'
  /** The members that prove it, as they go into the event. */
  evidence?: object
}

type ConsentBasis = NonNullable<ConsentSignal['state']>

/**
 * Reduces all sources to one basis. One denial denies, and so does Global Privacy Control. Else
 * the first source that speaks decides: the page's own word, then TCF, then Consent Mode, whose
 * defaults are no person's choice and must not overtake a banner that is still open.
 */
export function resolveConsentBasis(signals: ConsentSignal[], isOptedOut: boolean): ConsentBasis {
  const states = signals.map(({ state }) => state)
  if (isOptedOut || states.includes('denied')) return 'denied'
  return states.find(Boolean) || 'waiting'
}

const ADVERTISING_PURPOSES = ['ad_storage', 'ad_user_data', 'ad_personalization']

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
    for (const name of ADVERTISING_PURPOSES) {
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
    for (const entry of entries) runSafely(() => hear(entry))
  }
  hearAll(layer)
  const push = layer.push
  layer.push = (...entries) => {
    const length = push.apply(layer, entries)
    hearAll(entries)
    runSafely(onChange)
    return length
  }

  return () =>
    toConsentSignal({ ...defaults, ...updates }, Object.values(updates).includes('denied'))
}

function toConsentSignal(values: Values, isRefused: boolean): ConsentSignal {
  const spoken = Object.values(values)
  if (isRefused) return { state: 'denied' }
  const isGranted = values.ad_storage === 'granted' && values.ad_user_data === 'granted'
  if (isGranted && !spoken.includes('denied')) {
    return { state: 'granted', evidence: { consent_mode: values } }
  }
  return spoken[0] ? { state: 'waiting' } : {}
}

/**
 * Listens to the page's TCF consent platform, if there is one, and gives its state at any moment.
 * It grants when purposes 1, 3, 4 and 7 are consented (1 where it was asked), or when the platform
 * says that the GDPR does not apply. While its window is open the last state stands.
 */
export function watchTcf(page: Page, onChange: () => void): () => ConsentSignal {
  let signal: ConsentSignal = {}
  let isListening = false

  function hear(data: TcData, isSuccess: boolean): void {
    if (!isSuccess) return
    const { eventStatus } = data
    if (data.gdprApplies === false) signal = { state: 'granted' }
    else if (eventStatus === 'tcloaded' || eventStatus === 'useractioncomplete')
      signal = readTcData(data)
    onChange()
  }

  return () => {
    // The platform may come after the tag, so that it is looked for each time.
    if (!isListening && page.__tcfapi) {
      isListening = true
      signal = { state: 'waiting' }
      page.__tcfapi('addEventListener', 2, hear)
    }
    return signal
  }
}

function readTcData({
  tcString,
  eventStatus,
  purposeOneTreatment,
  purpose,
}: TcData): ConsentSignal {
  const consents = purpose?.consents || {}
  const mayStore = consents[1] || purposeOneTreatment
  if (!(mayStore && consents[3] && consents[4] && consents[7])) return { state: 'denied' }
  const tcf: Record<string, unknown> = { string: tcString }
  // A string that was loaded says itself on which day it was made.
  if (eventStatus === 'useractioncomplete') tcf.captured_at = new Date().toISOString()
  return { state: 'granted', evidence: { tcf } }
}
