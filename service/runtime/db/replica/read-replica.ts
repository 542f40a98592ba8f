import { findPoolerProblem } from '../connection-pooler.ts'
import { type Database, isCitusCluster } from '../database.ts'
import { isRollback, isStoreUnavailable } from '../database-errors.ts'

/** Where reads of history go, which may be a few seconds old (docs/decisions/0076). */
export interface ReadDatabase {
  /** For so long a session that wrote something reads from the primary; null without a replica. */
  readonly ownWriteSeconds: number | null
  /**
   * Runs `work`, which only reads, on the replica or on the primary. What fails on the replica runs
   * again on the primary, so `work` may run twice, and its caller sees no failure of the replica.
   */
  read<T>(work: (database: Database) => Promise<T>, options: ReadOptions): Promise<HistoryRead<T>>
}

interface ReadOptions {
  /** The session that asks has written something within `ownWriteSeconds`. */
  hasWritten: boolean
}

interface HistoryRead<T> {
  value: T
  /** Everything that was committed longer ago is in it; 0 from the primary. */
  ageSeconds: number
}

/** Without a replica, every read goes to the primary. */
export function readPrimaryOnly(primary: Database): ReadDatabase {
  return {
    ownWriteSeconds: null,
    read: async work => ({ value: await work(primary), ageSeconds: 0 }),
  }
}

/** Why reads go to the primary: the replica is behind, does not answer, or is no copy of it. */
const REPLICA_PROBLEMS = ['lag', 'away', 'unfit'] as const
export type ReplicaProblem = (typeof REPLICA_PROBLEMS)[number]

/** How a read was answered: by the replica, or by the primary and why. */
export const READ_RESULTS = ['replica', 'own_write', 'repeated', ...REPLICA_PROBLEMS] as const
export type ReadResult = (typeof READ_RESULTS)[number]

export interface ReadReplicaOptions {
  primary: Database
  replica: Database
  /** A connection to the replica of its own: long reads do not delay a measurement. */
  probe: Pick<Database, 'pool'>
  lagSecondsMax: number
  monotonicSeconds: () => number
  onRead: (result: ReadResult) => void
  /** Reads go to the primary from now on, or to the replica again (null). */
  onChange: (problem: ReplicaProblem | null, reason: unknown) => void
}

/** Between two measurements. */
export const MEASURE_SECONDS = 1
/** After a failure or a lag, so that reads do not go back and forth. */
export const COOL_DOWN_SECONDS = 10
const PROBE_MILLISECONDS_MAX = 2_000
/** Ten minutes: a longer lag is shown as one of ten minutes. */
const POSITIONS_MAX = 600

/** The end of the primary's WAL at a time. */
interface WalPosition {
  at: number
  position: bigint
}

/**
 * A streaming standby, as far as it may be used. Its lag is measured by positions, not by times of
 * commits: the replica has everything up to the newest position of the primary that it has passed.
 * A primary that nobody writes to looks like no lag, and the clocks of the servers do not matter.
 */
export class ReadReplica implements ReadDatabase {
  readonly #options: ReadReplicaOptions
  readonly #inFlight = new Set<(reason: Error) => void>()
  #positions: WalPosition[] = []
  #caughtUpAt: number | null = null
  #isChecked = false
  #problem: ReplicaProblem | null = 'away'
  #resumesAt = Number.NEGATIVE_INFINITY
  #measuring: Promise<void> | null = null

  constructor(options: ReadReplicaOptions) {
    this.#options = options
  }

  /** Longer than a replica in use can be behind: an earlier write is in what it answers. */
  get ownWriteSeconds(): number {
    return this.#options.lagSecondsMax + MEASURE_SECONDS
  }

  /** Null while it is not known: nothing was measured, or the replica does not answer. */
  get lagSeconds(): number | null {
    const behind = this.#caughtUpAt ?? this.#positions[0]?.at ?? null
    if (behind === null || this.#problem === 'away' || this.#problem === 'unfit') return null
    return this.#options.monotonicSeconds() - behind
  }

  async read<T>(
    work: (database: Database) => Promise<T>,
    { hasWritten }: ReadOptions,
  ): Promise<HistoryRead<T>> {
    const { primary, onRead } = this.#options
    const refused = hasWritten ? 'own_write' : this.#findProblem()
    if (refused === null) {
      const ageSeconds = this.lagSeconds ?? 0
      try {
        const value = await this.#onReplica(work)
        onRead('replica')
        return { value, ageSeconds }
      } catch (error) {
        if (!isOfReplica(error)) throw error
        if (isStoreUnavailable(error)) this.#leave('away', error)
      }
    }
    onRead(refused ?? 'repeated')
    return { value: await work(primary), ageSeconds: 0 }
  }

  /** Resolves when no measurement runs. */
  async settle(): Promise<void> {
    await this.#measuring
  }

  /** Compares the replica with the primary once. Never throws. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null
    })
    return this.#measuring
  }

  async #measure(): Promise<void> {
    const { primary, probe, monotonicSeconds } = this.#options
    // Everything that was committed before this time is below the position.
    const at = monotonicSeconds()
    // Without the primary the lag is not known, and grows.
    const end = await readEnd(primary).catch(() => null)
    if (end === null) return
    this.#positions.push({ at, position: end.position })
    if (this.#positions.length > POSITIONS_MAX) this.#positions.shift()
    try {
      const copy = await readReplayed(probe)
      const misfit = await this.#findMisfit(end, copy)
      if (misfit !== null) this.#leave('unfit', misfit)
      else this.#compare(copy.replayed ?? 0n)
    } catch (error) {
      this.#leave('away', error)
    }
  }

  /** The sentence that says why it cannot be used. A pooler is looked for once a connection. */
  async #findMisfit(end: EndOfWal, copy: ReplayedWal): Promise<string | null> {
    const { primary, replica } = this.#options
    const misfit = explainMisfit(end, copy)
    if (misfit !== null || this.#isChecked) return misfit
    if (await isCitusCluster(primary)) return NOT_FOR_CITUS
    const problem = await findPoolerProblem(replica)
    this.#isChecked = problem === null
    return problem
  }

  #compare(replayed: bigint): void {
    const passed = this.#positions.findLastIndex(({ position }) => position <= replayed)
    if (passed > 0) this.#positions = this.#positions.slice(passed)
    if (passed >= 0) this.#caughtUpAt = this.#positions[0]?.at ?? null
    // A single position is no measure: a replica that is behind by a moment has not passed it.
    else if (this.#positions.length === 1) return
    const now = this.#options.monotonicSeconds()
    const lag = now - (this.#caughtUpAt ?? Number.NEGATIVE_INFINITY)
    if (lag > this.#options.lagSecondsMax) this.#leave('lag', null)
    else if (this.#problem !== null && now >= this.#resumesAt) this.#change(null, null)
  }

  #findProblem(): ReplicaProblem | null {
    if (this.#problem !== null) return this.#problem
    const lag = this.lagSeconds ?? Number.POSITIVE_INFINITY
    return lag > this.#options.lagSecondsMax ? 'lag' : null
  }

  /** Reads that hang on a replica that went away end with it, not with their own time limit. */
  #onReplica<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#inFlight.add(reject)
    const done = () => this.#inFlight.delete(reject)
    work(this.#options.replica).then(resolve, reject).finally(done)
    return promise
  }

  #leave(problem: ReplicaProblem, reason: unknown): void {
    this.#resumesAt = this.#options.monotonicSeconds() + COOL_DOWN_SECONDS
    if (problem !== 'lag') {
      this.#isChecked = false
      this.#caughtUpAt = null
      for (const reject of this.#inFlight) reject(new ReplicaLost('the replica went away'))
    }
    this.#change(problem, reason)
  }

  #change(problem: ReplicaProblem | null, reason: unknown): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.#options.onChange(problem, reason)
  }
}

class ReplicaLost extends Error {
  override name = 'ReplicaLost'
}

const SQLSTATE = /^[0-9A-Z]{5}$/
/** What asks for a change is a mistake in our code, not a failure of the replica. */
const READ_ONLY = '25006'

/** Whether the primary may answer what the replica did not. A refusal is the same on both. */
function isOfReplica(error: unknown): boolean {
  if (error instanceof ReplicaLost || isRollback(error)) return true
  const { code } = error as { code?: unknown }
  if (code === READ_ONLY) return false
  return isStoreUnavailable(error) || (typeof code === 'string' && SQLSTATE.test(code))
}

export interface EndOfWal {
  position: bigint
  /** The same on a primary and its physical copies. */
  system: string
}

/** Where the WAL of the primary ends. */
export async function readEnd({ pool }: Pick<Database, 'pool'>): Promise<EndOfWal> {
  const { rows } = await pool.query({
    text: `select (pg_current_wal_lsn() - '0/0')::text as "position",
             system_identifier::text as "system" from pg_control_system()`,
    query_timeout: PROBE_MILLISECONDS_MAX,
  } as { text: string })
  const [{ position, system }] = rows
  return { position: BigInt(position), system }
}

export interface ReplayedWal {
  isStandby: boolean
  /** Null where there is nothing to replay. */
  replayed: bigint | null
  system: string
}

/** How much of the WAL the replica has replayed. */
export async function readReplayed({ pool }: Pick<Database, 'pool'>): Promise<ReplayedWal> {
  const { rows } = await pool.query({
    text: `select pg_is_in_recovery() as "isStandby",
             (pg_last_wal_replay_lsn() - '0/0')::text as "replayed",
             system_identifier::text as "system" from pg_control_system()`,
    query_timeout: PROBE_MILLISECONDS_MAX,
  } as { text: string })
  const [{ isStandby, replayed, system }] = rows
  return { isStandby, replayed: replayed === null ? null : BigInt(replayed), system }
}

export const NOT_FOR_CITUS =
  'SIGNALBOX_REPLICA_URL has no use on a Citus cluster: a copy of the coordinator reads the ' +
  'shards of the same workers.'

/** Why a server is no copy of the primary that follows it; null when it is one. */
export function explainMisfit(
  { system }: Pick<EndOfWal, 'system'>,
  copy: ReplayedWal,
): string | null {
  if (copy.system !== system) {
    return 'SIGNALBOX_REPLICA_URL leads to a server that is no copy of the one of DATABASE_URL.'
  }
  if (copy.isStandby) return null
  return 'SIGNALBOX_REPLICA_URL leads to a server that is no standby, or no longer one.'
}
