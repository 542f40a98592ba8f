import type { ProposalContext } from '../service/agents/proposals/agents-context.ts'
import { openDatabase } from '../service/db/database.ts'
import type { AgentStage } from './agent-stage.ts'
import { type Death, Life, mortalDatabase } from './mortal-database.ts'

export interface MortalAct {
  connectionString: string
  death: Death
  act: (context: ProposalContext) => Promise<unknown>
}

/**
 * Something done on a stage by a process of its own that ends on the way: nothing of it reaches the
 * store from then on, and its connections are gone. True when it has died; whatever a living one
 * throws is thrown.
 */
export async function mortalAct(
  { context }: AgentStage,
  { connectionString, death, act }: MortalAct,
): Promise<boolean> {
  const own = openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'somebody mortal',
    onIdleError: () => {},
  })
  const life = new Life()
  life.begin(death, async () => {})
  try {
    await act({ ...context, database: mortalDatabase(own, life) })
  } catch (error) {
    if (!life.isOver()) throw error
  } finally {
    await own.close()
  }
  return life.isOver()
}
