import type { ConsentSignal } from './consent-signals.ts'
import type { Page } from './page.ts'
import type { Outcome, Send } from './transport.ts'
import type { VisitorCookie } from './visitor-cookie.ts'

/** The state of the tag on one page, in memory only. */
export interface TagState {
  page: Page
  /** The URL at load time: a later URL may have lost the click ID. */
  landingUrl: string
  /** Events that wait for a consent basis, oldest first. */
  waiting: WaitingEvent[]
  /** The consent set with signalbox('consent'). */
  pageConsent: ConsentSignal
  tcfSignal: () => ConsentSignal
  consentMode: () => ConsentSignal
  /** Undefined before signalbox('init'). */
  config?: { send: Send; visitor: VisitorCookie; pixel: boolean | undefined }
}

export interface InitOptions {
  /** The publishable key, `sbx_pk_...`. */
  key: string
  /** The forwarder's path, or the service's base URL: events go to `{endpoint}/events`. */
  endpoint: string
  /** Also tracks each event with the Meta Pixel, under the same ID. */
  pixel?: boolean
  /** The domain of the visitor cookie. Default: this host only. */
  cookieDomain?: string
}

/** Members of an event set by the page; others are sent too (contract: EventSubmission). */
export interface EventParameters {
  event_id?: string
  event_source?: string
  user_data?: object
  click_ids?: object
  value_data?: object
}

export interface WaitingEvent {
  members: EventParameters & { event_id: string; event_name: string; event_source: string }
  callback: Callback | undefined
}

export type Callback = (result: EventResult) => void

export interface EventResult {
  event_id: string
  outcome: Outcome
  /** The HTTP status, if there was a response. */
  status: number | undefined
}
