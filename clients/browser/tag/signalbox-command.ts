import { watchConsentMode, watchTcf } from './consent-signals.ts'
import { flushEvents, queueEvent, withdrawConsent } from './event-queue.ts'
import { type Page, runSafely, type SignalboxCommand } from './page.ts'
import type { Callback, EventParameters, InitOptions, TagState } from './tag-state.ts'
import { createTransport } from './transport.ts'
import { createVisitorCookie } from './visitor-cookie.ts'

/** Set by clients/browser/build-tag.ts. */
declare const VERSION: string

/** The visitor's choice as the page reports it; `consent` is sent unchanged with each event. */
export interface PageConsent {
  basis: 'consent' | 'none'
  consent?: object
}

/** Creates the function that pages call. It sends and stores nothing before consent. */
export function createSignalboxCommand(page: Page): SignalboxCommand {
  const flush = () => flushEvents(tag)
  const tag: TagState = {
    page,
    landingUrl: page.location.href,
    waiting: [],
    pageConsent: {},
    tcfSignal: watchTcf(page, flush),
    consentMode: watchConsentMode(page, flush),
  }
  // A consent platform may load with the rest of the page.
  page.addEventListener('load', flush)
  page.document.addEventListener('prerenderingchange', flush)

  const commands: Record<string, (...parameters: never[]) => void> = {
    init: (options: InitOptions) => init(tag, options),
    event: (name: string, parameters?: EventParameters, callback?: Callback) =>
      queueEvent(tag, { ...parameters, event_name: name }, callback),
    consent: (consent: PageConsent) => setPageConsent(tag, consent),
    withdraw: (callback?: Callback, platforms?: string[]) =>
      withdrawConsent(tag, callback, platforms),
  }
  const command: SignalboxCommand = (name, ...parameters) =>
    runSafely(() => {
      const run = commands[name as string]
      if (!run) throw Error(`no command ${name}`)
      run(...(parameters as never[]))
      flush()
    })
  command.version = VERSION
  return command
}

function init(tag: TagState, options: InitOptions): void {
  const { key, endpoint, pixel, cookieDomain } = options
  // A secret key in a page is public: it must not appear to work.
  if (!/^sbx_pk_/.test(key)) throw Error('no publishable key')
  tag.config = {
    send: createTransport(tag.page, endpoint.replace(/\/$/, ''), key),
    visitor: createVisitorCookie(tag.page, cookieDomain),
    pixel,
  }
}

function setPageConsent(tag: TagState, { basis, consent }: PageConsent): void {
  if (basis !== 'consent' && basis !== 'none') throw Error('basis is consent or none')
  tag.pageConsent =
    basis === 'none' ? { state: 'denied' } : { state: 'granted', evidence: { consent } }
}
