import type { Page } from './page.ts'

/**
 * The outcome of an event. `sent`: the service accepted it (2xx). `refused`: any other response.
 * `unconfirmed`: sent as a beacon while the page was left, so the response is unknown. `failed`:
 * not sent. `dropped`: no consent, or too many waiting events.
 */
export type Outcome = 'sent' | 'refused' | 'unconfirmed' | 'failed' | 'dropped'

/** Receives the outcome and the HTTP status, if there was a response. */
export type Report = (outcome: Outcome, status?: number) => void

export interface OutgoingEvent {
  body: string
  report: Report
  isLast?: boolean
}

export type Send = (events: OutgoingEvent[]) => void

const RETRY_AFTER_SECONDS_MAX = 300
/** What the service takes with a publishable key. */
const BATCH_EVENTS_MAX = 20

interface Channel {
  page: Page
  url: string
  key: string
  /** A batch was refused: an older service, or an older forwarder. */
  isSingle?: boolean
  /** Each function starts a pending retry immediately. */
  retries: Set<() => void>
}

/**
 * Sends events to the endpoint with the publishable key, several of them as a batch. After a
 * network error, 429 or 5xx it retries an event once, after Retry-After or else one to two seconds.
 * While the page is left, and in browsers without fetch keepalive, it sends beacons instead.
 */
export function createTransport(page: Page, endpoint: string, key: string): Send {
  const channel: Channel = { page, url: `${endpoint}/events`, key, retries: new Set() }
  function retryNow(): void {
    if (isLeaving(page)) for (const retry of channel.retries) retry()
  }
  // Older Safari does not fire visibilitychange, and other browsers do not always fire pagehide.
  page.addEventListener('pagehide', retryNow)
  page.document.addEventListener('visibilitychange', retryNow)
  return events => {
    while (events[0]) sendTogether(channel, events.splice(0, BATCH_EVENTS_MAX))
  }
}

/**
 * Sends events as one batch, and each by itself that has no result: an older service or an older
 * forwarder has no such path. A service that is busy for the batch is busy for each event. A beacon
 * has no response that would tell, so it has one event.
 */
function sendTogether(channel: Channel, events: OutgoingEvent[]): void {
  const sendSingly = () => events.map(event => attempt(channel, event))
  if (!events[1] || channel.isSingle || isBeacon(channel)) sendSingly()
  else
    post(channel, `{"events":[${events.map(({ body }) => body)}]}`, '/batch')
      .then(response =>
        isRetryable(response.status)
          ? { results: events.map(() => resultOf(response)) }
          : (response.json() as Promise<BatchAnswer>),
      )
      .then(({ results }) =>
        results.map(result => settle(channel, events.shift() as OutgoingEvent, result)),
      )
      .catch(() => {
        channel.isSingle = true
      })
      // Those that are left: all of them, or those for which there was no result.
      .then(sendSingly)
}

interface BatchAnswer {
  results: Result[]
}

interface Result {
  status: number
  retry_after: number
}

/** The page's listeners may run before ours, so this also checks the current event. */
function isLeaving({ document, event }: Page): boolean {
  return (
    document.visibilityState === 'hidden' || /pagehide|unload/.test(((event || {}) as Event).type)
  )
}

function isBeacon({ page }: Channel): boolean {
  return isLeaving(page) || !('keepalive' in Request.prototype)
}

function attempt(channel: Channel, event: OutgoingEvent): void {
  const { body, report, isLast } = event
  if (isBeacon(channel)) report(sendBeacon(channel, body) ? 'unconfirmed' : 'failed')
  else
    post(channel, body).then(
      response => settle(channel, event, resultOf(response)),
      () => (isLast ? report('failed') : retryAfter(0, channel, event)),
    )
}

function resultOf({ status, headers }: Response): Result {
  return { status, retry_after: +(headers.get('Retry-After') as string) }
}

function isRetryable(status: number): boolean {
  return status === 429 || status > 499
}

function settle(channel: Channel, event: OutgoingEvent, { status, retry_after }: Result): void {
  if (event.isLast || !isRetryable(status) || retry_after > RETRY_AFTER_SECONDS_MAX)
    event.report(status < 300 ? 'sent' : 'refused', status)
  else retryAfter(retry_after, channel, event)
}

function retryAfter(seconds: number, channel: Channel, event: OutgoingEvent): void {
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

function post({ url, key }: Channel, body: string, path = ''): Promise<Response> {
  return fetch(url + path, {
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
