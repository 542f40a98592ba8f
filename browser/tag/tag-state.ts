import type { ConsentSignal } from './consent-signals.ts'
import type { Page } from './page.ts'
import type { Outcome, Send } from './transport.ts'
import type { VisitorCookie } from './visitor-cookie.ts'

/** What the tag knows on one page. It is kept in memory alone. */
export interface TagState {
  page: Page
  /** The URL on which the tag was loaded; a later one may have lost the click id. */
  landingUrl: string
  /** Events for which the basis is not known yet, the oldest first. */
  waiting: WaitingEvent[]
  /** What the page itself said with signalbox('consent'). */
  pageConsent: ConsentSignal
  tcf: () => ConsentSignal
  consentMode: () => ConsentSignal
  /** Missing before signalbox('init'). */
  config?: { send: Send; visitor: VisitorCookie; pixel: boolean | undefined }
}

export interface InitOptions {
  /** The publishable key, `sbx_pk_...`. */
  key: string
  /** The forwarder's path, or the service's base URL: events go to `{endpoint}/events`. */
  endpoint: string
  /** Also tell the Meta Pixel of each event, under the same id. */
  pixel?: boolean
  /** The domain of the visitor's cookie; without it the cookie is this host's alone. */
  cookieDomain?: string
}

/** The members of an event that a page may give; others go along (contract: EventSubmission). */
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
  /** The HTTP status, where there was an answer. */
  status: number | undefined
}
