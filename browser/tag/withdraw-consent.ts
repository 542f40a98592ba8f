import { randomId } from './random-id.ts'
import { reportTo } from './report-to.ts'
import { settleEvents } from './settle-events.ts'
import type { Callback, TagState } from './tag-state.ts'

/**
 * Ends consent: drops what waits, removes the cookie, and tells the service which visitor
 * withdrew, on legitimate interest and without anything else. Where no visitor is known there is
 * nothing to withdraw from.
 */
export function withdrawConsent(tag: TagState, callback: Callback | undefined): void {
  if (!tag.set) throw Error('init comes first')
  tag.pageWord = { state: 'denied' }
  settleEvents(tag)
  const event_id = randomId()
  const visitor_id = tag.set.visitor.forget()
  const report = reportTo(event_id, callback)
  if (!visitor_id) report('dropped')
  else {
    const event_name = 'consent_withdrawal'
    const body = { event_id, event_name, consent_basis: 'legitimate_interest', visitor_id }
    tag.set.send(JSON.stringify(body), report)
  }
}
