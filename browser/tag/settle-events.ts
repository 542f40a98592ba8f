import { type ConsentSignal, consentBasis } from './consent-basis.ts'
import { consentedEvent } from './consented-event.ts'
import { guarded } from './guarded.ts'
import type { Page } from './page.ts'
import { reportTo } from './report-to.ts'
import type { TagState, WaitingEvent } from './tag-state.ts'

/**
 * Sends or drops what waits, once the basis is known. It is called after whatever may have changed
 * the basis. A page that is rendered ahead of a visit that may never come does nothing.
 */
export function settleEvents(tag: TagState): void {
  const { page, set } = tag
  if (!set || page.document.prerendering) return
  const signals = [tag.pageWord, tag.tcf(), tag.consentMode()]
  const basis = consentBasis(signals, !!page.navigator.globalPrivacyControl)
  if (basis === 'waiting') return
  if (basis === 'denied') set.visitor.forget()
  for (const event of tag.waiting.splice(0)) {
    if (basis === 'denied') reportTo(event.members.event_id, event.callback)('dropped')
    else guarded(() => send(tag, event, signals))
  }
}

function send(tag: TagState, { members, callback }: WaitingEvent, signals: ConsentSignal[]): void {
  const { page, set } = tag
  if (!set) return
  const body = consentedEvent(tag, members, set.visitor.id())
  for (const { evidence } of signals) Object.assign(body, evidence)
  set.send(JSON.stringify(body), reportTo(members.event_id, callback))
  if (set.pixel) tellPixel(page, members)
}

/** The Pixel and the service report one event twice; the platform knows it by the id. */
function tellPixel({ fbq }: Page, members: WaitingEvent['members']): void {
  const { event_id, event_name, value_data } = members
  if (fbq) fbq('track', event_name, value_data || {}, { eventID: event_id })
}
