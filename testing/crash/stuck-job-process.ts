import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { startJobWorker } from '../../service/runtime/jobs/worker.ts'

/** A program whose only job, `index-lists`, never ends, so that a test can kill it in between. */
const [connectionString = ''] = process.argv.slice(2)

startJobWorker({
  database: openDatabase({
    connectionString,
    connectionsMax: 3,
    applicationName: 'stuck job',
    onIdleError: () => {},
  }),
  jobs: [
    {
      name: 'index-lists',
      schedule: null,
      timeoutSeconds: 60,
      run: async () => {
        process.stderr.write('working\n')
        await delay(3_600_000)
      },
    },
  ],
  now: () => new Date(),
  concurrency: 1,
  onError: error => process.stderr.write(`${error}\n`),
  onDone: () => {},
})
