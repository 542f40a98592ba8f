import type { Page } from './page.ts'

/**
 * The outcome of an event. `sent`: the service accepted it (2xx). `refused`: any other response.
 * `unconfirmed`: sent as a beacon while the page was left, so the response is unknown. `failed`:
 * not sent. `dropped`: no consent, or too many waiting events.
 */
export type Outcome = 'sent' | 'refused' | 'unconfirmed' | 'failed' | 'dropped'

/** Receives the outcome and the HTTP status, if there was a response. */
export type Report = (outcome: Outcome, status?: number) => void

export type Send = (body: string, report: Report) => void

const RETRY_AFTER_SECONDS_MAX = 300

interface Channel {
  page: Page
  url: string
  key: string
  /** Each function starts a pending retry immediately. */
  retries: Set<() => void>
}

/**
 * Sends events to the endpoint with the publishable key. After a network error, 429 or 5xx it
 * retries once, after Retry-After or else one to two seconds. While the page is left, and in
 * browsers without fetch keepalive, it sends a beacon instead.
 */
export function createTransport(page: Page, endpoint: string, key: string): Send {
  const channel: Channel = { page, url: `${endpoint}/events`, key, retries: new Set() }
  function retryNow(): void {
    if (isLeaving(page)) for (const retry of channel.retries) retry()
  }
  // Older Safari does not fire visibilitychange, and other browsers do not always fire pagehide.
  page.addEventListener('pagehide', retryNow)
  page.document.addEventListener('visibilitychange', retryNow)
  return (body, report) => attempt(channel, { body, report, isLast: false })
}

/** The page's listeners may run before ours, so this also checks the current event. */
function isLeaving({ document, event }: Page): boolean {
  return document.visibilityState === 'hidden' || /pagehide|unload/.test(event?.type || '')
}

interface Attempt {
  body: string
  report: Report
  isLast: boolean
}

function attempt(channel: Channel, event: Attempt): void {
  const { body, report, isLast } = event
  if (isLeaving(channel.page) || !('keepalive' in Request.prototype)) {
    report(sendBeacon(channel, body) ? 'unconfirmed' : 'failed')
    return
  }
  post(channel, body).then(
    ({ ok, status, headers }) => {
      const seconds = Number(headers.get('Retry-After'))
      const isRetryable = status === 429 || status > 499
      if (isLast || !isRetryable || seconds > RETRY_AFTER_SECONDS_MAX)
        report(ok ? 'sent' : 'refused', status)
      else retryAfter(seconds, channel, event)
    },
    () => (isLast ? report('failed') : retryAfter(0, channel, event)),
  )
}

function retryAfter(seconds: number, channel: Channel, event: Attempt): void {
  const { retries } = channel
  const retry = () => {
    clearTimeout(timer)
    retries.delete(retry)
    // A forwarder signs time and body. With a space behind it, the same event in the same second is
    // not taken for a replay.
    attempt(channel, { ...event, body: `${event.body} `, isLast: true })
  }
  const timer = setTimeout(retry, (seconds || 1 + Math.random()) * 1_000)
  retries.add(retry)
}

function post({ url, key }: Channel, body: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    keepalive: true,
    credentials: 'omit',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body,
  })
}

/** A beacon has no headers, so the URL contains the key, which is public. */
function sendBeacon({ page, url, key }: Channel, body: string): boolean {
  const blob = new Blob([body], { type: 'text/plain;charset=UTF-8' })
  return page.navigator.sendBeacon(`${url}?key=${key}`, blob)
}
