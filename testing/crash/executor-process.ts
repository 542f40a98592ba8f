import { once } from 'node:events'
import { simulatedPlatform } from '../../service/agents/executor/ad-entity-store.ts'
import { resumeExecutions } from '../../service/agents/executor/execution-triggers.ts'
import { createAuditTrail } from '../../service/audit/audit-store.ts'
import { openDatabase } from '../../service/db/database.ts'
import { FIXTURE_AUDIT_KEYS } from '../fixtures/agents.ts'
import { CrashableProcess, createCrashableDatabase } from './crash-injection.ts'

/**
 * A program that resumes unfinished executions at a given time and halts before one statement,
 * where the test kills it. It prints `stopped` then, or `done` if it never reaches that statement.
 */
const [connectionString = '', moment = '', stopBefore = ''] = process.argv.slice(2)

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
  if (statements !== Number(stopBefore)) return
  process.stdout.write('stopped\n')
  // Waiting for input that never comes keeps the process alive.
  await once(process.stdin, 'end')
})
await resumeExecutions({
  database: createCrashableDatabase(database, crashable),
  now: () => new Date(moment),
  audit: createAuditTrail(FIXTURE_AUDIT_KEYS),
  platform: simulatedPlatform,
})
await database.close()
process.stdout.write('done\n')
