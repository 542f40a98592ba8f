// Runs alone: coverage counts what every other test of the process runs, too.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Session } from 'node:inspector/promises'
import { it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import { startTestService } from '../testing/fixtures/service.ts'

/** A reader follows one event through this many files of `service/`, and no more. */
const FILES_TO_COMMIT_MAX = 82
const FILES_TO_PLATFORM_MAX = 43

const SERVICE = `${pathToFileURL(import.meta.dirname)}/`

it('an event crosses few files on its way to the commit and on to the platform', async test => {
  const service = await startTestService(test)
  const accept = () => service.submit(samplePurchase({ event_id: randomUUID() }))
  await accept()
  await service.deliver()

  const toCommit = await filesOfEveryRun(accept, { warmUp: accept })
  await service.deliver()
  const toPlatform = await filesOfEveryRun(() => service.deliver(), { prepare: accept })

  test.diagnostic(`${toCommit.length} files to the commit, ${toPlatform.length} to the platform`)
  assert.ok(toCommit.includes('signals/ingestion/routes.ts'))
  assert.ok(toPlatform.includes('signals/platforms/meta/client.ts'))
  assert.ok(toCommit.length <= FILES_TO_COMMIT_MAX, toCommit.join('\n'))
  assert.ok(toPlatform.length <= FILES_TO_PLATFORM_MAX, toPlatform.join('\n'))
})

type Step = () => Promise<unknown>

/**
 * The files that three runs have in common. A timer that fires during one of them, or a cached key
 * whose half second is over, is no part of the path of an event.
 */
async function filesOfEveryRun(
  act: Step,
  { prepare, warmUp }: { prepare?: Step; warmUp?: Step },
): Promise<string[]> {
  const runs: string[][] = []
  for (let run = 0; run < 3; run += 1) {
    await prepare?.()
    runs.push(await filesThatRun(act, warmUp))
  }
  const [first = [], ...others] = runs
  return first.filter(file => others.every(files => files.includes(file)))
}

/**
 * The files of which a named function runs during `act`, by V8's own coverage. The warm-up comes
 * last before it: on a busy machine, starting coverage takes longer than caches keep a key.
 */
async function filesThatRun(act: Step, warmUp?: Step): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await warmUp?.()
  await session.post('Profiler.takePreciseCoverage')
  await act()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ url }) => url.startsWith(SERVICE) && !url.endsWith('.test.ts'))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => url.slice(SERVICE.length))
    .sort()
}
