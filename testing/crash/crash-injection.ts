import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { ProposalContext } from '../../service/agents/agents-context.ts'
import { createSimulatedCampaignApi } from '../../service/agents/campaigns/simulated-campaign-store.ts'
import { type Database, openDatabase } from '../../service/runtime/db/database.ts'

/**
 * The statement or response at which a process crashes. A statement at the crash point is either
 * not executed, or executed without its result being received.
 */
export interface CrashPoint {
  at: 'before statement' | 'after statement' | 'answer'
  count: number
}

/** The operations of one process, which can crash. A crashed process never runs again. */
export class CrashableProcess {
  #crashPoint: CrashPoint | null = null
  #waitForTurn: () => Promise<void> = async () => {}
  #statements = 0
  #answers = 0
  #hasCrashed = false

  /** Awaits `waitForTurn` before each operation. Null clears a crash point not yet reached. */
  arm(crashPoint: CrashPoint | null, waitForTurn: () => Promise<void>): void {
    this.#crashPoint = crashPoint
    this.#waitForTurn = waitForTurn
    this.#statements = 0
    this.#answers = 0
  }

  hasCrashed(): boolean {
    return this.#hasCrashed
  }

  async runStatement<Result>(execute: () => Promise<Result>): Promise<Result> {
    await this.#beginOperation()
    this.#statements += 1
    const crashPoint = this.#crashPoint
    if (this.#statements !== crashPoint?.count || crashPoint.at === 'answer') return execute()
    this.#hasCrashed = true
    if (crashPoint.at === 'after statement') await execute()
    throw new Error('this worker crashes')
  }

  async sendRequest<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    await this.#beginOperation()
    const answer = await send()
    this.#answers += 1
    const crashPoint = this.#crashPoint
    if (this.#answers !== crashPoint?.count || crashPoint.at !== 'answer') return answer
    this.#hasCrashed = true
    throw new Error('this worker crashes')
  }

  async #beginOperation(): Promise<void> {
    if (!this.#hasCrashed) await this.#waitForTurn()
    if (this.#hasCrashed) throw new Error('this worker has crashed')
  }
}

/** The same database, until the process crashes. */
export function createCrashableDatabase(database: Database, process: CrashableProcess): Database {
  const { pool } = database
  const mortalPool = {
    query: (...statement: unknown[]) =>
      process.runStatement(() => pool.query(...(statement as [string]))),
    connect: async () => {
      const client = await pool.connect()
      return {
        query: (...statement: unknown[]) =>
          process.runStatement(() => client.query(...(statement as [string]))),
        release: () => client.release(),
      }
    },
  } as unknown as pg.Pool
  return {
    ...database,
    pool: mortalPool,
    query: new Kysely({ dialect: new PostgresDialect({ pool: mortalPool }) }),
  }
}

interface CrashingOperation {
  connectionString: string
  crashPoint: CrashPoint
  operation: (context: ProposalContext) => Promise<unknown>
}

/**
 * Runs an operation with its own connections until it crashes: nothing reaches the store afterward
 * and its connections are closed. The statements of the simulated platform count, too. Returns
 * whether it crashed; rethrows any other error.
 */
export async function runUntilCrash(
  { context }: { context: ProposalContext },
  { connectionString, crashPoint, operation }: CrashingOperation,
): Promise<boolean> {
  const own = openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'signalbox crash test',
    onIdleError: () => {},
  })
  const process = new CrashableProcess()
  process.arm(crashPoint, async () => {})
  try {
    const database = createCrashableDatabase(own, process)
    await operation({ ...context, database, campaigns: createSimulatedCampaignApi(database) })
  } catch (error) {
    if (!process.hasCrashed()) throw error
  } finally {
    await own.close()
  }
  return process.hasCrashed()
}
