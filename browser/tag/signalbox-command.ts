import { guarded } from './guarded.ts'
import type { Page } from './page.ts'
import { queueEvent } from './queue-event.ts'
import { settleEvents } from './settle-events.ts'
import type { Callback, EventParameters, InitOptions, TagState } from './tag-state.ts'
import { transport } from './transport.ts'
import { visitorCookie } from './visitor-cookie.ts'
import { watchConsentMode } from './watch-consent-mode.ts'
import { watchTcf } from './watch-tcf.ts'
import { withdrawConsent } from './withdraw-consent.ts'

/** Put in by browser/build-tag.ts. */
declare const VERSION: string

/** `window.signalbox`: the name of a command, then its arguments. The stub keeps them in `q`. */
export interface SignalboxCommand {
  (...call: unknown[]): void
  q?: unknown[][]
  version?: string
}

/** What the page itself knows of the visitor's choice; `consent` goes into each event as it is. */
export interface PageConsent {
  basis: 'consent' | 'none'
  consent?: object
}

/** Makes the function that pages call. It sends nothing and keeps nothing before consent. */
export function signalboxCommand(page: Page): SignalboxCommand {
  const settle = () => settleEvents(tag)
  const tag: TagState = {
    page,
    landingUrl: page.location.href,
    waiting: [],
    pageWord: {},
    tcf: watchTcf(page, settle),
    consentMode: watchConsentMode(page, settle),
  }
  // A consent platform may come with the rest of the page.
  page.addEventListener('load', settle)
  page.document.addEventListener('prerenderingchange', settle)

  const commands: Record<string, (...parameters: never[]) => void> = {
    init: (options: InitOptions) => init(tag, options),
    event: (name: string, parameters?: EventParameters, callback?: Callback) =>
      queueEvent(tag, { ...parameters, event_name: name }, callback),
    consent: (word: PageConsent) => hearPage(tag, word),
    withdraw: (callback?: Callback) => withdrawConsent(tag, callback),
  }
  const command: SignalboxCommand = (name, ...parameters) =>
    guarded(() => {
      const run = commands[name as string]
      if (!run) throw Error(`no command ${name}`)
      run(...(parameters as never[]))
      settle()
    })
  command.version = VERSION
  return command
}

function init(tag: TagState, options: InitOptions): void {
  const { key, endpoint, pixel, cookieDomain } = options
  // A secret key that stands in a page is public from then on; it must not seem to work.
  if (!/^sbx_pk_/.test(key)) throw Error('init needs the publishable key')
  tag.set = {
    send: transport(tag.page, endpoint.replace(/\/$/, ''), key),
    visitor: visitorCookie(tag.page, cookieDomain),
    pixel,
  }
}

function hearPage(tag: TagState, { basis, consent }: PageConsent): void {
  if (basis !== 'consent' && basis !== 'none') throw Error('basis is consent or none')
  tag.pageWord =
    basis === 'none' ? { state: 'denied' } : { state: 'granted', evidence: { consent } }
}
