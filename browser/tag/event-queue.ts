import { type ConsentSignal, resolveConsentBasis } from './consent-signals.ts'
import { type Page, runSafely } from './page.ts'
import type { Callback, EventParameters, TagState, WaitingEvent } from './tag-state.ts'
import type { Report } from './transport.ts'
import { randomId, readCookie } from './visitor-cookie.ts'

/** Kept in memory while nobody knows the basis; beyond it the oldest are dropped. */
const WAITING_EVENTS_MAX = 50

/** Lets an event wait as it is now, with its id and URL; only the consent may come later. */
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

/** Address and user agent are the trusted edge's to give (specification: rule 4 on consent). */
function omitClientFields(name: string, value: unknown): unknown {
  return name === 'client_ip_address' || name === 'client_user_agent' ? undefined : value
}

/**
 * Sends or drops what waits, once the basis is known. It is called after whatever may have changed
 * the basis. A page that is rendered ahead of a visit that may never come does nothing.
 */
export function flushEvents(tag: TagState): void {
  const { page, config: set } = tag
  if (!set || page.document.prerendering) return
  const signals = [tag.pageConsent, tag.tcf(), tag.consentMode()]
  const basis = resolveConsentBasis(signals, !!page.navigator.globalPrivacyControl)
  if (basis === 'waiting') return
  if (basis === 'denied') set.visitor.forget()
  for (const event of tag.waiting.splice(0)) {
    if (basis === 'denied') createReporter(event.members.event_id, event.callback)('dropped')
    else runSafely(() => send(tag, event, signals))
  }
}

function send(tag: TagState, { members, callback }: WaitingEvent, signals: ConsentSignal[]): void {
  const { page, config: set } = tag
  if (!set) return
  const body = buildConsentedEvent(tag, members, set.visitor.id())
  for (const { evidence } of signals) Object.assign(body, evidence)
  set.send(JSON.stringify(body), createReporter(members.event_id, callback))
  if (set.pixel) trackWithPixel(page, members)
}

/** The Pixel and the service report one event twice; the platform knows it by the id. */
function trackWithPixel({ fbq }: Page, members: WaitingEvent['members']): void {
  const { event_id, event_name, value_data } = members
  if (fbq) fbq('track', event_name, value_data || {}, { eventID: event_id })
}

/**
 * An event on the basis of consent, still without its evidence (contract: ConsentEvent). Only
 * here are the Pixel's cookies read; an fbp or fbc is taken over, never invented.
 */
function buildConsentedEvent(
  { page, landingUrl }: { page: Page; landingUrl: string },
  members: WaitingEvent['members'],
  visitor_id: string,
): object {
  return {
    ...members,
    consent_basis: 'consent',
    visitor_id,
    click_ids: {
      fbclid: readFbclid(members.event_source) || readFbclid(landingUrl),
      fbc: readCookie(page, '_fbc'),
      fbp: readCookie(page, '_fbp'),
      ...members.click_ids,
    },
  }
}

function readFbclid(url: string): string | undefined {
  return new URL(url).searchParams.get('fbclid') || undefined
}

/**
 * Ends consent: drops what waits, removes the cookie, and tells the service which visitor
 * withdrew, on legitimate interest and without anything else. Where no visitor is known there is
 * nothing to withdraw from.
 */
export function withdrawConsent(tag: TagState, callback: Callback | undefined): void {
  if (!tag.config) throw Error('init comes first')
  tag.pageConsent = { state: 'denied' }
  flushEvents(tag)
  const event_id = randomId()
  const visitor_id = tag.config.visitor.forget()
  const report = createReporter(event_id, callback)
  if (!visitor_id) report('dropped')
  else {
    const event_name = 'consent_withdrawal'
    const body = { event_id, event_name, consent_basis: 'legitimate_interest', visitor_id }
    tag.config.send(JSON.stringify(body), report)
  }
}

/** Tells the page's callback, and the console when the service said no. */
function createReporter(event_id: string, callback: Callback | undefined): Report {
  return (outcome, status) => {
    if (outcome === 'refused') console.warn('signalbox', event_id, outcome, status)
    if (callback) runSafely(() => callback({ event_id, outcome, status }))
  }
}
