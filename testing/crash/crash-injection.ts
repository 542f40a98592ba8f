import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { ProposalContext } from '../../service/agents/proposals/agents-context.ts'
import { type Database, openDatabase } from '../../service/db/database.ts'
import type { AgentFixture } from '../fixtures/agents.ts'

/**
 * At which of its next statements or answers somebody dies. A statement at the moment of death is
 * not carried out, or it is and nobody hears of it.
 */
export interface CrashPoint {
  at: 'before statement' | 'after statement' | 'answer'
  count: number
}

/** The acts of one worker, which can end on the way. What is dead stays so. */
export class CrashableProcess {
  #death: CrashPoint | null = null
  #turn: () => Promise<void> = async () => {}
  #statements = 0
  #answers = 0
  #isOver = false

  /** `turn` is waited for before each act. A death of null takes back one that has not come. */
  arm(death: CrashPoint | null, turn: () => Promise<void>): void {
    this.#death = death
    this.#turn = turn
    this.#statements = 0
    this.#answers = 0
  }

  hasCrashed(): boolean {
    return this.#isOver
  }

  async runStatement<Result>(execute: () => Promise<Result>): Promise<Result> {
    await this.#act()
    this.#statements += 1
    if (this.#statements !== this.#death?.count || this.#death.at === 'answer') return execute()
    this.#isOver = true
    if (this.#death.at === 'after statement') await execute()
    throw new Error('this worker dies')
  }

  async sendRequest<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    await this.#act()
    const answer = await send()
    this.#answers += 1
    if (this.#answers !== this.#death?.count || this.#death.at !== 'answer') return answer
    this.#isOver = true
    throw new Error('this worker dies')
  }

  async #act(): Promise<void> {
    if (!this.#isOver) await this.#turn()
    if (this.#isOver) throw new Error('this worker is dead')
  }
}

/** The same store, as long as the life lasts. */
export function createCrashableDatabase(database: Database, life: CrashableProcess): Database {
  const { pool } = database
  const mortalPool = {
    query: (...statement: unknown[]) =>
      life.runStatement(() => pool.query(...(statement as [string]))),
    connect: async () => {
      const client = await pool.connect()
      return {
        query: (...statement: unknown[]) =>
          life.runStatement(() => client.query(...(statement as [string]))),
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
 * Something done on a stage by a process of its own that ends on the way: nothing of it reaches the
 * store from then on, and its connections are gone. True when it has died; whatever a living one
 * throws is thrown.
 */
export async function runUntilCrash(
  { context }: AgentFixture,
  { connectionString, crashPoint: death, operation: act }: CrashingOperation,
): Promise<boolean> {
  const own = openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'somebody mortal',
    onIdleError: () => {},
  })
  const life = new CrashableProcess()
  life.arm(death, async () => {})
  try {
    await act({ ...context, database: createCrashableDatabase(own, life) })
  } catch (error) {
    if (!life.hasCrashed()) throw error
  } finally {
    await own.close()
  }
  return life.hasCrashed()
}
