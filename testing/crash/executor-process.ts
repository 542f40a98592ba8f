import { once } from 'node:events'
import { createSimulatedCampaignApi } from '../../service/agents/campaigns/simulated-campaign-store.ts'
import { resumeExecutions } from '../../service/agents/executor/execution-triggers.ts'
import { createAuditTrail } from '../../service/audit/audit-store.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { FIXTURE_AUDIT_KEYS } from '../fixtures/agents.ts'
import { CrashableProcess, createCrashableDatabase } from './crash-injection.ts'

/**
 * A program that resumes unfinished executions at a given time and halts before one statement, or
 * after one change of an entity. The test kills it there. It prints `stopped` then, or `done` if it
 * never halts.
 */
const [connectionString = '', moment = '', stopBefore = '', stopAfterChange = ''] =
  process.argv.slice(2)

const database = openDatabase({
  connectionString,
  connectionsMax: 2,
  applicationName: 'an executor that is killed',
  onIdleError: () => {},
})
const crashable = new CrashableProcess()
let statements = 0
crashable.arm(null, async () => {
  statements += 1
  if (statements === Number(stopBefore)) await halt()
})
const crashableDatabase = createCrashableDatabase(database, crashable)
const campaigns = createSimulatedCampaignApi(crashableDatabase)
let changes = 0
await resumeExecutions({
  database: crashableDatabase,
  now: () => new Date(moment),
  audit: createAuditTrail(FIXTURE_AUDIT_KEYS, createLogger('silent')),
  campaigns: {
    ...campaigns,
    changeEntity: async (...change) => {
      const after = await campaigns.changeEntity(...change)
      changes += 1
      if (changes === Number(stopAfterChange)) await halt()
      return after
    },
  },
})
await database.close()
process.stdout.write('done\n')

async function halt(): Promise<void> {
  process.stdout.write('stopped\n')
  // Waiting for input that never comes keeps the process alive.
  await once(process.stdin, 'end')
}
