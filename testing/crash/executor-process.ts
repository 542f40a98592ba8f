import { once } from 'node:events'
import { simulatedPlatform } from '../../service/agents/executor/ad-entity-store.ts'
import { resumeExecutions } from '../../service/agents/executor/execution-triggers.ts'
import { createAuditTrail } from '../../service/audit/audit-store.ts'
import { openDatabase } from '../../service/db/database.ts'
import { FIXTURE_AUDIT_KEYS } from '../fixtures/agents.ts'
import { CrashableProcess, createCrashableDatabase } from './crash-injection.ts'

/**
 * A process of its own that finishes what was left halfway in a store, at a moment, and stops for
 * good before one of its statements; there a test ends it. It says `stopped` then, and `done` when
 * that statement does not come.
 */
const [connectionString = '', moment = '', stopBefore = ''] = process.argv.slice(2)

const database = openDatabase({
  connectionString,
  connectionsMax: 2,
  applicationName: 'an executor that is killed',
  onIdleError: () => {},
})
const life = new CrashableProcess()
let statements = 0
life.arm(null, async () => {
  statements += 1
  if (statements !== Number(stopBefore)) return
  process.stdout.write('stopped\n')
  // Reading keeps the process alive; nobody writes.
  await once(process.stdin, 'end')
})
await resumeExecutions({
  database: createCrashableDatabase(database, life),
  now: () => new Date(moment),
  ...{ audit: createAuditTrail(FIXTURE_AUDIT_KEYS), platform: simulatedPlatform },
})
await database.close()
process.stdout.write('done\n')
