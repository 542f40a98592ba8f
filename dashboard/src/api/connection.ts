import { useSyncExternalStore } from 'react'

/**
 * Whether the service answers, and how old its answers are. The first request without an answer
 * starts to ask `/livez`, more slowly each time; the first answer ends it and tells the listeners,
 * which load again.
 */

const WAITS_MILLISECONDS = [500, 1_000, 2_000]
const LONGEST_WAIT_MILLISECONDS = 4_000
/** A proxy answers so while nothing is behind it. */
const AWAY_STATUSES = [502, 503, 504]

/** After an outage so recent the waits go on: a proxy may reach `/livez` and nothing else. */
const RECENT_MILLISECONDS = 60_000

let recovery: Promise<void> | null = null
let attempt = 0
let recoveredAt = 0
const listeners = new Set<() => void>()

/** Starts to wait for the service. The promise is fulfilled when it answers again. */
export function waitForService(): Promise<void> {
  if (recovery) return recovery
  if (Date.now() - recoveredAt > RECENT_MILLISECONDS) attempt = 0
  recovery = askUntilAnswered().finally(() => {
    recovery = null
    recoveredAt = Date.now()
    notify()
  })
  notify()
  return recovery
}

/** True from the first request without an answer until the next answer. */
export function useIsServiceAway(): boolean {
  return useSyncExternalStore(subscribe, () => recovery !== null)
}

/** Only lists and reports have it, where a replica may answer them. */
const AGE_HEADER = 'signalbox-data-age'
/** A replica that keeps up is a second or two behind, which nobody needs to know. */
const AGE_SECONDS_SHOWN = 5

let shownAge = 0

/** Keeps what an answer says about the age of its rows. */
export function noteDataAge(headers: Headers): void {
  const age = headers.get(AGE_HEADER)
  if (age === null) return
  const shown = Number(age) < AGE_SECONDS_SHOWN ? 0 : Number(age)
  if (shown === shownAge) return
  shownAge = shown
  notify()
}

/** By how many seconds lists and reports are old; 0 for too few to tell. */
export function useDataAge(): number {
  return useSyncExternalStore(subscribe, () => shownAge)
}

async function askUntilAnswered(): Promise<void> {
  for (;;) {
    await sleep(WAITS_MILLISECONDS[attempt] ?? LONGEST_WAIT_MILLISECONDS)
    attempt += 1
    const answer = await fetch('/livez', { cache: 'no-store' }).catch(() => null)
    if (answer && !AWAY_STATUSES.includes(answer.status)) return
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notify(): void {
  for (const listener of listeners) listener()
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, milliseconds)
  })
}
