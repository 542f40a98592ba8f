import { createSecretKey, randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { readBearerToken } from '../../service/runtime/http/headers.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { Refusal } from '../../service/runtime/http/refusal.ts'
import { createServiceApp } from '../../service/runtime/http/service-app.ts'
import {
  generateToken,
  hashToken,
  parseTokenKind,
} from '../../service/runtime/util/token-format.ts'
import type { AuthenticateTracker } from '../../service/signals/access/authenticate-tracker.ts'
import { guardRoutes } from '../../service/signals/access/guard-routes.ts'
import type { TrackerIdentity } from '../../service/signals/access/tracker-store.ts'
import type { CommitOutcome } from '../../service/signals/ingestion/commit-events.ts'
import type { EventDraft } from '../../service/signals/ingestion/event-draft.ts'
import { GroupCommit } from '../../service/signals/ingestion/group-commit.ts'
import { ingestionRoutes } from '../../service/signals/ingestion/routes.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { RefusalRecorder } from '../../service/signals/refusals/refusal-recorder.ts'

/** The defaults of SIGNALBOX_COMMIT_EVENTS_MAX and SIGNALBOX_INGEST_QUEUE_MAX. */
const COMMIT_EVENTS_MAX = 1_000
const QUEUE_MAX = 10_000
const META_ROUTES = [{ id: randomUUID(), platform: 'meta', isTest: false }]

const NO_LIMITS = {
  tracker: null,
  browser: null,
  publishableKey: null,
  pageWithdrawals: null,
  pageWithdrawalsOfTracker: null,
}

/**
 * A program with the service's HTTP layer, authentication, route, validation, consent, hashing and
 * group commit, in which the commit returns "new" without a store. It builds what
 * `service/program/server/server.ts` builds, without the modules that only read the store. The
 * difference between it and `serve` is the cost of the database.
 */
const secret = generateToken('tracker_secret')
const app = createServiceApp(createLogger('warn'))
let origin = ''
guardRoutes(app, authenticateFrom(new Map([[digestOf(secret), someTracker()]])))
app.register(
  async api =>
    ingestionRoutes(api, {
      platforms: createOfflinePlatforms(),
      settings: {},
      routes: { get: async () => META_ROUTES },
      commits: new GroupCommit<EventDraft, CommitOutcome>({
        commit: async drafts => drafts.map(() => ({ isNew: true })),
        itemsMax: COMMIT_EVENTS_MAX,
        queueMax: QUEUE_MAX,
      }),
      erasureKey: async () => createSecretKey(Buffer.alloc(32)),
      // Only withdrawals read the store, and the load has none.
      database: {} as Database,
      now: () => new Date(),
      limits: NO_LIMITS,
      refusals: new RefusalRecorder(),
      publicOrigin: () => origin,
    }),
  { prefix: BASE_PATH },
)
await app.listen({ host: '127.0.0.1', port: 0 })
origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
process.once('disconnect', () => process.exit(0))
process.send?.({ origin, trackerSecret: secret })

/** The steps of `createTrackerAuthenticator`, with a map instead of the table. */
function authenticateFrom(trackers: ReadonlyMap<string, TrackerIdentity>): AuthenticateTracker {
  const findKnown = (authorization: string | undefined) => {
    const token = readBearerToken(authorization)
    if (token === null || parseTokenKind(token) !== 'tracker_secret') return null
    return trackers.get(digestOf(token)) ?? null
  }
  const authenticate = async (authorization: string | undefined) => {
    const tracker = findKnown(authorization)
    if (!tracker) throw Refusal.unauthenticated()
    return tracker
  }
  return Object.assign(authenticate, { findKnown })
}

function digestOf(token: string): string {
  return hashToken(token).toString('base64')
}

function someTracker(): TrackerIdentity {
  return { trackerId: randomUUID(), workspaceId: 1 }
}
