import type { Database } from '../../runtime/db/database.ts'
import {
  listenForNotifications,
  type NotificationListener,
} from '../../runtime/db/notification-listener.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { singleFlight } from '../../runtime/util/load-cache.ts'
import { sleep } from '../../runtime/util/wait.ts'
import type { TrackerIdentity } from '../../signals/access/tracker-store.ts'
import {
  ACTIVITY_CHANNEL,
  parseTrackerIds,
} from '../../signals/delivery/destination-queue-store.ts'
import { type CurrentUser, findLiveSessions } from '../../workspaces/users/session-store.ts'
import { requireRole } from '../../workspaces/users/workspaces.ts'
import type { EventStream } from './event-stream.ts'
import { StreamLimit, type StreamRefusal, type StreamSlots } from './stream-limit.ts'
import { TrackerFeed } from './tracker-feed.ts'

export interface LiveOptions {
  database: Database
  /** For a connection that listens, while there are streams. */
  connectionString: string
  logger: Pick<ServiceLogger, 'warn'>
  now: () => Date
  streamSlots: StreamSlots | undefined
}

interface StreamRequest {
  user: CurrentUser
  tracker: TrackerIdentity
  /** Of the client, as the rate limits count it. */
  address: string
  since: Date | null
}

interface OpenStream extends StreamRequest {
  feed: WatchedFeed
  release: () => void
}

interface WatchedFeed {
  trackerId: string
  feed: TrackerFeed
  /** There may be news that no read has seen. */
  isDue: boolean
  isReading: boolean
}

const RETRY_SECONDS = 10
/** A burst of commits leads to one read in this time. */
const READ_PAUSE_SECONDS = 0.5
const TICK_MILLISECONDS = 1_000
/** A stream ends within five seconds after its session. */
const TICKS_PER_SESSION_CHECK = 3
/** A notification can get lost, with the connection of the process that sends it. */
const TICKS_PER_HEARTBEAT = 15

/**
 * The live views of one HTTP worker. While there are streams, one connection listens for trackers
 * with news. Without that connection every tracker is read each second.
 */
export class LiveEvents {
  readonly #options: LiveOptions
  readonly #limit: StreamLimit
  readonly #streams = new Map<EventStream, OpenStream>()
  readonly #feeds = new Map<string, WatchedFeed>()
  #listener: NotificationListener | null = null
  #timer: NodeJS.Timeout | undefined
  #ticks = 0
  #isClosed = false

  constructor(options: LiveOptions) {
    this.#options = options
    this.#limit = new StreamLimit(options.streamSlots)
  }

  /**
   * Sends a stream until it ends. Throws a 503 when the process has too many of them, and a 429
   * when the person, the workspace or the address has.
   */
  async open(stream: EventStream, request: StreamRequest): Promise<void> {
    if (this.#isClosed) throw closing()
    const { user, tracker, address } = request
    const owner = { userId: user.userId, workspaceId: tracker.workspaceId, address }
    const slot = this.#limit.tryTake(owner)
    if (typeof slot === 'string') throw tooMany(slot)
    const feed = this.#findOrAddFeed(request.tracker.trackerId)
    this.#streams.set(stream, { ...request, feed, release: slot.release })
    stream.onClose(() => this.#remove(stream))
    this.#timer ??= setInterval(() => this.#tick(), TICK_MILLISECONDS)
    try {
      // Before the first read, so that nothing is missed after it.
      await this.#listen()
      await feed.feed.join({ stream, since: request.since })
    } catch (error) {
      this.#remove(stream)
      throw error
    }
    if (this.#isClosed && !stream.isOpen) throw closing()
    if (stream.isEnded) this.#remove(stream)
  }

  /** Ends all streams; pages resume with another process. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const stream of [...this.#streams.keys()]) {
      stream.end()
      this.#remove(stream)
    }
    await this.#stopListening()
  }

  #findOrAddFeed(trackerId: string): WatchedFeed {
    const { database, now } = this.#options
    const known = this.#feeds.get(trackerId)
    if (known) return known
    const feed = new TrackerFeed({ database, trackerId, now })
    const watched = { trackerId, feed, isDue: false, isReading: false }
    this.#feeds.set(trackerId, watched)
    return watched
  }

  #remove(stream: EventStream): void {
    const open = this.#streams.get(stream)
    if (!open) return
    this.#streams.delete(stream)
    const { feed, release } = open
    release()
    feed.feed.leave(stream)
    if (![...this.#streams.values()].some(other => other.feed === feed)) {
      this.#feeds.delete(feed.trackerId)
    }
    if (this.#streams.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    void this.#stopListening()
  }

  readonly #listen = singleFlight(async () => {
    if (this.#listener || this.#isClosed) return
    try {
      const listener = await listenForNotifications({
        connectionString: this.#options.connectionString,
        channel: ACTIVITY_CHANNEL,
        onNotification: payload => this.#refreshChanged(parseTrackerIds(payload)),
        onLost: () => {
          this.#listener = null
        },
      })
      this.#listener = listener
      if (this.#streams.size === 0) await this.#stopListening()
    } catch (err) {
      this.#options.logger.warn({ err }, 'live views are not notified; they poll instead')
    }
  })

  async #stopListening(): Promise<void> {
    const listener = this.#listener
    this.#listener = null
    await listener?.close().catch(() => {})
  }

  #tick(): void {
    this.#ticks += 1
    const isListening = this.#listener !== null
    const isHeartbeat = this.#ticks % TICKS_PER_HEARTBEAT === 0
    for (const watched of this.#feeds.values()) {
      if (isHeartbeat) watched.feed.sendHeartbeats()
      if (isHeartbeat || !isListening || watched.isDue) void this.#refresh(watched)
    }
    if (!isListening) void this.#listen()
    if (this.#ticks % TICKS_PER_SESSION_CHECK === 0) {
      this.#endRevokedStreams().catch(err =>
        this.#options.logger.warn({ err }, 'the sessions of live views were not checked'),
      )
    }
  }

  #refreshChanged(trackerIds: ReadonlySet<string> | null): void {
    for (const watched of this.#feeds.values()) {
      if (trackerIds === null || trackerIds.has(watched.trackerId)) void this.#refresh(watched)
    }
  }

  /** Reads at once, and once more after a pause if there is news in the meantime. */
  async #refresh(watched: WatchedFeed): Promise<void> {
    watched.isDue = true
    if (watched.isReading) return
    watched.isReading = true
    while (watched.isDue && this.#feeds.get(watched.trackerId) === watched) {
      watched.isDue = false
      try {
        await watched.feed.refresh()
      } catch (err) {
        this.#options.logger.warn({ err }, 'the events of a live view were not read')
        // The next tick tries again.
        watched.isDue = true
        break
      }
      await sleep(READ_PAUSE_SECONDS)
    }
    watched.isReading = false
  }

  /** Ends the streams of people who signed out, were disabled, or lost their role. */
  async #endRevokedStreams(): Promise<void> {
    const { database, now } = this.#options
    const open = [...this.#streams]
    const sessionIds = [...new Set(open.map(([, { user }]) => user.sessionId))]
    const people = await findLiveSessions(database, sessionIds, now())
    const checks = new Map<string, Promise<boolean>>()
    for (const [stream, { user, tracker }] of open) {
      const current = people.get(user.sessionId)
      const key = `${user.sessionId} ${tracker.workspaceId}`
      const check = checks.get(key) ?? this.#mayRead(current, tracker)
      checks.set(key, check)
      if (!(await check)) stream.end()
    }
  }

  async #mayRead(
    user: CurrentUser | undefined,
    { workspaceId }: TrackerIdentity,
  ): Promise<boolean> {
    if (!user || user.mustChangePassword) return false
    try {
      await requireRole(this.#options.database, user, { workspaceId, action: 'view_events' })
      return true
    } catch (error) {
      if (error instanceof Refusal) return false
      throw error
    }
  }
}

const TOO_MANY: Record<Exclude<StreamRefusal, 'process'>, string> = {
  user: 'You have too many live views open; close one.',
  workspace: 'Too many live views of this workspace are open; close one, or wait and try again.',
  address: 'Too many live views are open from this address; close one, or wait and try again.',
}

function tooMany(refusal: StreamRefusal): Refusal {
  if (refusal !== 'process') {
    const headers = { 'retry-after': String(RETRY_SECONDS) }
    return new Refusal(429, TOO_MANY[refusal], { headers })
  }
  const message = 'Too many live views are open; close one, or wait and try again.'
  return Refusal.unavailable(message, RETRY_SECONDS)
}

function closing(): Refusal {
  return Refusal.unavailable('Signalbox is shutting down; connect again.', 1)
}
