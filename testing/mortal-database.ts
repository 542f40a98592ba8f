import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { Database } from '../service/db/database.ts'

/**
 * At which of its next statements or answers somebody dies. A statement at the moment of death is
 * not carried out, or it is and nobody hears of it.
 */
export interface Death {
  at: 'before statement' | 'after statement' | 'answer'
  count: number
}

/** The acts of one worker, which can end on the way. What is dead stays so. */
export class Life {
  #death: Death | null = null
  #turn: () => Promise<void> = async () => {}
  #statements = 0
  #answers = 0
  #isOver = false

  /** `turn` is waited for before each act. A death of null takes back one that has not come. */
  begin(death: Death | null, turn: () => Promise<void>): void {
    this.#death = death
    this.#turn = turn
    this.#statements = 0
    this.#answers = 0
  }

  isOver(): boolean {
    return this.#isOver
  }

  async statement<Result>(execute: () => Promise<Result>): Promise<Result> {
    await this.#act()
    this.#statements += 1
    if (this.#statements !== this.#death?.count || this.#death.at === 'answer') return execute()
    this.#isOver = true
    if (this.#death.at === 'after statement') await execute()
    throw new Error('this worker dies')
  }

  async request<Answer>(send: () => Promise<Answer>): Promise<Answer> {
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
export function mortalDatabase(database: Database, life: Life): Database {
  const { pool } = database
  const mortalPool = {
    query: (...statement: unknown[]) =>
      life.statement(() => pool.query(...(statement as [string]))),
    connect: async () => {
      const client = await pool.connect()
      return {
        query: (...statement: unknown[]) =>
          life.statement(() => client.query(...(statement as [string]))),
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
