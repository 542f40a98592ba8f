import { resolveConsentBasis } from './consent-signals.ts'
import { type Page, runSafely } from './page.ts'
import type { Callback, EventParameters, TagState, WaitingEvent } from './tag-state.ts'
import type { OutgoingEvent, Report } from './transport.ts'
import { randomId, readCookie } from './visitor-cookie.ts'

/** Names separated by spaces, set by clients/browser/build-tag.ts. */
declare const CLICK_PARAMETERS: string
declare const CLICK_COOKIES: string

/** Events in memory while the basis is unknown; beyond the limit the oldest are dropped. */
const WAITING_EVENTS_MAX = 50

/** Queues a snapshot of an event with its ID and URL, until consent is known. */
export function queueEvent(
  { page, waiting }: TagState,
  parameters: EventParameters & { event_name: string },
  callback: Callback | undefined,
): void {
  const event_id = parameters.event_id || randomId()
  const event_source = parameters.event_source || page.location.href.replace(/#.*/, '')
  const text = JSON.stringify({ ...parameters, event_id, event_source }, omitClientFields)
  waiting.push({ members: JSON.parse(text) as WaitingEvent['members'], callback })
  const oldest = waiting[WAITING_EVENTS_MAX] && waiting.shift()
  if (oldest) createReporter(oldest.members.event_id, oldest.callback)('dropped')
}

/** Only the trusted edge may report the address and user agent. */
function omitClientFields(name: string, value: unknown): unknown {
  return /^client_(ip|user)_/.test(name) ? undefined : value
}

/**
 * Sends or drops the waiting events once the basis is known. Called after anything that may change
 * the basis. Does nothing on a prerendered page, which may never be visited.
 */
export function flushEvents(tag: TagState): void {
  const { page, config } = tag
  if (!config || page.document.prerendering) return
  const signals = [tag.pageConsent, tag.tcfSignal(), tag.consentMode()]
  const basis = resolveConsentBasis(signals, !!page.navigator.globalPrivacyControl)
  if (basis === 'waiting') return
  if (basis === 'denied') config.visitor.remove()
  const outgoing: OutgoingEvent[] = []
  for (const { members, callback } of tag.waiting.splice(0)) {
    const report = createReporter(members.event_id, callback)
    if (basis === 'denied') report('dropped')
    else
      runSafely(() => {
        const body = buildConsentedEvent(tag, members, config.visitor.id())
        for (const { evidence } of signals) Object.assign(body, evidence)
        outgoing.push({ body: JSON.stringify(body), report })
        if (config.pixel) trackWithPixel(page, members)
      })
  }
  config.send(outgoing)
}

/** The Pixel and the service both report the event; the platform deduplicates by its ID. */
function trackWithPixel({ fbq }: Page, members: WaitingEvent['members']): void {
  const { event_id, event_name, value_data } = members
  if (fbq) fbq('track', event_name, value_data || {}, { eventID: event_id })
}

/** An event on the basis of consent, without its evidence (contract: ConsentEvent). */
function buildConsentedEvent(
  tag: TagState,
  members: WaitingEvent['members'],
  visitor_id: string,
): object {
  return {
    ...members,
    consent_basis: 'consent',
    visitor_id,
    click_ids: { ...readClickIds(tag, members.event_source), ...members.click_ids },
  }
}

/**
 * The click IDs of the page, else those of the landing page, else those of the platforms' cookies,
 * which are read only here and copied, never generated. Which of them count is decided by the
 * service: it knows what the visitor refuses of one platform.
 */
function readClickIds({ page, landingUrl }: TagState, eventSource: string): object {
  const clickIds: Record<string, string | undefined> = {}
  for (const url of [eventSource, landingUrl]) {
    const { searchParams } = new URL(url)
    for (const name of CLICK_PARAMETERS.split(' '))
      clickIds[name] = clickIds[name] || searchParams.get(name) || undefined
  }
  for (const cookie of CLICK_COOKIES.split(' ')) {
    const name = cookie.replace(/^_+/, '')
    clickIds[name] = clickIds[name] || readCookie(page, cookie)
  }
  return clickIds
}

/**
 * Withdraws consent: drops waiting events, removes the cookie, and reports the visitor's withdrawal
 * to the service on legitimate interest, without other data. Sends nothing without a visitor. For
 * named platforms the withdrawal is reported only: events go on to the others.
 */
export function withdrawConsent(
  tag: TagState,
  callback: Callback | undefined,
  withdrawn_platforms?: string[],
): void {
  if (!tag.config) throw Error('no init')
  if (!withdrawn_platforms) {
    tag.pageConsent = { state: 'denied' }
    flushEvents(tag)
  }
  const event_id = randomId()
  const visitor_id = tag.config.visitor.remove(withdrawn_platforms)
  const report = createReporter(event_id, callback)
  if (!visitor_id) report('dropped')
  else {
    const event_name = 'consent_withdrawal'
    const consent_basis = 'legitimate_interest'
    const body = { event_id, event_name, consent_basis, visitor_id, withdrawn_platforms }
    tag.config.send([{ body: JSON.stringify(body), report }])
  }
}

/** Calls the page's callback, and warns on the console about a rejected event. */
function createReporter(event_id: string, callback: Callback | undefined): Report {
  return (outcome, status) => {
    if (outcome === 'refused') console.warn('signalbox', event_id, outcome, status)
    if (callback) runSafely(() => callback({ event_id, outcome, status }))
  }
}
