import type { Page } from './page.ts'

/**
 * What became of an event: `sent`, the service took it (2xx); `refused`, it answered otherwise;
 * `unconfirmed`, it left together with the page, so that no answer could be heard; `failed`, it
 * did not leave; `dropped`, there is no consent, or too many were waiting.
 */
export type Outcome = 'sent' | 'refused' | 'unconfirmed' | 'failed' | 'dropped'

/** Takes the outcome and, where there was an answer, its HTTP status. */
export type Report = (outcome: Outcome, status?: number) => void

export type Send = (body: string, report: Report) => void

const RETRY_AFTER_SECONDS_MAX = 300

interface Channel {
  page: Page
  url: string
  key: string
  /** Brings each attempt that waits forward to now. */
  retries: Set<() => void>
}

/**
 * Sends events to the endpoint with the publishable key. A lost answer, 429 and 5xx are followed
 * by one more attempt, after Retry-After or else one to two seconds. While the page goes away, and
 * in browsers whose fetch would die with it, a beacon is sent instead.
 */
export function createTransport(page: Page, endpoint: string, key: string): Send {
  const channel: Channel = { page, url: `${endpoint}/events`, key, retries: new Set() }
  function hurry(): void {
    if (isLeaving(page)) for (const retry of channel.retries) retry()
  }
  // Older Safari leaves a page without visibilitychange, other browsers hide it without pagehide.
  page.addEventListener('pagehide', hurry)
  page.document.addEventListener('visibilitychange', hurry)
  return (body, report) => attempt(channel, { body, report, isLast: false })
}

/** The page's own listeners may run before ours, so the event that is under way is asked. */
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
      const mayPass = status === 429 || status > 499
      if (isLast || !mayPass || seconds > RETRY_AFTER_SECONDS_MAX)
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

/** A beacon carries no headers, so the key, which is public, stands in the URL. */
function sendBeacon({ page, url, key }: Channel, body: string): boolean {
  const blob = new Blob([body], { type: 'text/plain;charset=UTF-8' })
  return page.navigator.sendBeacon(`${url}?key=${key}`, blob)
}
