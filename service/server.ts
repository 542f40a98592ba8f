import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { trackerAuthentication } from './access/authenticate-tracker.ts'
import { guardRoutes } from './access/guard-routes.ts'
import type { Database } from './db/database.ts'
import { announceDeliveries, skipWaitingOfVisitor } from './delivery/store.ts'
import { healthRoutes } from './http/routes.ts'
import { createServiceApp, type ServiceApp, type ServiceLogger } from './http/service-app.ts'
import { eventCommitter } from './ingestion/commit-events.ts'
import { GroupCommit } from './ingestion/group-commit.ts'
import { ingestionRoutes } from './ingestion/routes.ts'
import type { Platform } from './platforms/platform.ts'
import { reportRoutes } from './reports/routes.ts'

export interface ServerOptions {
  database: Database
  platform: Platform
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  ingestQueueMax: number
  commitEventsMax: number
  /** Deliveries were planned in this process. */
  onPlanned: () => void
}

export interface Server {
  app: ServiceApp
  /** Everything around the service is there: `/readyz` may say so. */
  markReady(): void
  /** Stops accepting, answers what was accepted, and commits it. */
  close(): Promise<void>
}

/** The register: every room that speaks HTTP, one line each. */
export function createServer(options: ServerOptions): Server {
  const { database, logger, now, publicOrigin } = options
  const app = createServiceApp(logger)
  const commits = eventCommits(options)
  let pause: string | null = 'start'

  const onTouchError = (err: unknown) => logger.warn({ err }, 'the time of last use was not kept')
  guardRoutes(app, trackerAuthentication(database, { now, onTouchError }))
  healthRoutes(app, {
    checks: [{ name: 'store', check: () => database.reach() }],
    pause: () => pause,
  })
  app.register(
    async api => {
      ingestionRoutes(api, {
        commits,
        now,
        publicOrigin,
        stopWaiting: visitor => skipWaitingOfVisitor(database, visitor),
      })
      reportRoutes(api, { database })
    },
    { prefix: BASE_PATH },
  )

  const close = async () => {
    pause = 'shutdown'
    await app.close()
    await commits.drain()
  }
  const markReady = () => {
    pause = null
  }
  return { app, markReady, close }
}

function eventCommits(options: ServerOptions) {
  const { database, platform, now, logger } = options
  const announce = limitedAnnouncements(options)
  return new GroupCommit({
    commit: eventCommitter({
      database,
      platform,
      now,
      onPlanned: announce,
      onNoteError: err => logger.warn({ err }, 'a repeated submission was not noted'),
    }),
    itemsMax: options.commitEventsMax,
    queueMax: options.ingestQueueMax,
  })
}

const ANNOUNCEMENT_MILLISECONDS = 100

/** Under load one notice in a tenth of a second is enough: a woken worker looks at everything. */
function limitedAnnouncements({ database, logger, onPlanned }: ServerOptions): () => void {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    onPlanned()
    const moment = performance.now()
    if (moment - last < ANNOUNCEMENT_MILLISECONDS) return
    last = moment
    announceDeliveries(database).catch(err => logger.warn({ err }, 'workers were not woken'))
  }
}
