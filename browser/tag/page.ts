/**
 * What the tag touches of a browser's window, and nothing else. The repository is checked without
 * the DOM's types, so that a service file cannot speak of `document` by mistake.
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
  /** The event whose listeners run at this moment. */
  event?: { type: string }
  addEventListener(type: string, listener: Listener): void
  signalbox?: SignalboxCommand
  /** Where gtag puts its calls, each as an `arguments` object. */
  dataLayer?: unknown[]
  /** The consent platform of TCF v2. */
  __tcfapi?(command: 'addEventListener', version: 2, callback: TcfCallback): void
  /** The Meta Pixel. */
  fbq?(action: 'track', name: string, parameters: object, options: { eventID: string }): void
}

/** `window.signalbox`: the name of a command, then its arguments. The stub keeps them in `q`. */
export interface SignalboxCommand {
  (...call: unknown[]): void
  q?: unknown[][]
  version?: string
}

type Listener = () => void

type TcfCallback = (data: TcData, isSuccess: boolean) => void

/** What a consent platform says with each event (TCF v2, TCData). */
export interface TcData {
  tcString?: string
  eventStatus?: 'tcloaded' | 'cmpuishown' | 'useractioncomplete'
  gdprApplies?: boolean
  purposeOneTreatment?: boolean
  purpose?: { consents?: Record<number, boolean> }
}

/** Runs it; what it throws is a warning on the console. The tag never breaks the page. */
export function runSafely(run: () => void): void {
  try {
    run()
  } catch (error) {
    console.warn('signalbox', error)
  }
}
