/**
 * The parts of the browser's window that the tag uses. The repository compiles without the DOM
 * types, so that no service file can use `document` by mistake.
 */
export interface Page {
  document: {
    cookie: string
    prerendering?: boolean
    visibilityState: string
    addEventListener(type: string, listener: Listener): void
  }
  location: { href: string; protocol: string }
  navigator: {
    /** Global Privacy Control: do not sell or share (W3C draft). */
    globalPrivacyControl?: boolean
    sendBeacon(url: string, body: Blob): boolean
  }
  /** The event whose listeners are running. */
  event?: { type: string }
  addEventListener(type: string, listener: Listener): void
  signalbox?: SignalboxCommand
  /** The queue of gtag calls, each an `arguments` object. */
  dataLayer?: unknown[]
  /** The consent management platform of TCF v2. */
  __tcfapi?(command: 'addEventListener', version: 2, callback: TcfCallback): void
  /** The Meta Pixel. */
  fbq?(action: 'track', name: string, parameters: object, options: { eventID: string }): void
}

/** `window.signalbox(command, ...arguments)`. The stub queues calls in `q`. */
export interface SignalboxCommand {
  (...call: unknown[]): void
  q?: unknown[][]
  version?: string
}

type Listener = () => void

type TcfCallback = (data: TcData, isSuccess: boolean) => void

/** The data of each TCF event (TCF v2, TCData). */
export interface TcData {
  tcString?: string
  eventStatus?: 'tcloaded' | 'cmpuishown' | 'useractioncomplete'
  gdprApplies?: boolean
  purposeOneTreatment?: boolean
  purpose?: { consents?: Record<number, boolean> }
}

/** Runs a function and logs its exception as a console warning. The tag never breaks the page. */
export function runSafely(run: () => void): void {
  try {
    run()
  } catch (error) {
    console.warn('signalbox', error)
  }
}
