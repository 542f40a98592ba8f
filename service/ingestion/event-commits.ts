import type { Database } from '../db/database.ts'
import type { StoreNodes } from '../db/store-nodes.ts'
import type { DestinationRoutes } from '../delivery/destination-routes.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import type { Platform } from '../platforms/platform.ts'
import { type CommitOutcome, eventCommitter } from './commit-events.ts'
import type { CommitHealth } from './commit-health.ts'
import type { ErasureKeySource } from './erasure-watch.ts'
import type { EventDraft } from './event-draft.ts'
import { type Commits, GroupCommit } from './group-commit.ts'
import { NodeCommits } from './node-commits.ts'

/** Events that were committed together. */
export interface CommittedEvents {
  eventCount: number
  /** The others were there already. */
  newCount: number
  seconds: number
}

export interface EventCommitsOptions {
  nodes: StoreNodes
  database: Database
  platform: Platform
  routes: DestinationRoutes
  erasureKey: ErasureKeySource
  health: CommitHealth
  logger: ServiceLogger
  commitEventsMax: number
  ingestQueueMax: number
  /** Deliveries were planned: wake the workers that send them. */
  onPlanned: () => void
  /** For counting. */
  onCommitted?: ((group: CommittedEvents) => void) | undefined
}

/** Commits events in groups: one at a time on one PostgreSQL, or at each node of a cluster. */
export function eventCommits(options: EventCommitsOptions): Commits<EventDraft, CommitOutcome> {
  const { nodes, database, health, logger, onCommitted } = options
  const onNoteError = (err: unknown) => logger.warn({ err }, 'a repeated submission was not noted')
  const committerOf = (node: Database) => {
    const commit = eventCommitter({ ...options, database: node, onNoteError })
    return health.watch(onCommitted ? toldCommits(commit, onCommitted) : commit)
  }
  const bounds = { itemsMax: options.commitEventsMax, queueMax: options.ingestQueueMax }
  if (!nodes.isCluster) return new GroupCommit({ commit: committerOf(database), ...bounds })
  return new NodeCommits({ nodeOf: id => nodes.nodeOf(id), committerOf, ...bounds })
}

type Commit = ReturnType<typeof eventCommitter>

/** The same commits, each told of once it is durable. */
function toldCommits(commit: Commit, onCommitted: (group: CommittedEvents) => void): Commit {
  return async drafts => {
    const start = performance.now()
    const outcomes = await commit(drafts)
    const newCount = outcomes.filter(({ isNew }) => isNew).length
    const seconds = (performance.now() - start) / 1_000
    onCommitted({ eventCount: drafts.length, newCount, seconds })
    return outcomes
  }
}
