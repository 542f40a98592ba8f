import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'
import { findCitusObstacle } from '../citus/cluster.ts'

const MAIN = join(import.meta.dirname, 'main.ts')

/** A tiny load, as in bench.test.ts; run by `npm run test:citus`. */
it('citus commits every purchase at each target', { skip: findCitusObstacle() ?? false }, () => {
  const load = ['--commits', '2', '--rows', '20', '--trackers', '1,3']
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'citus', ...load], {
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^PostgreSQL: rows 320, committed 320$/m)
  assert.match(stdout, /^cluster: rows 640, committed 640$/m)
  assert.match(stdout, /^3 trackers, owning node to PostgreSQL [\d.]+: target at most 1\.5: /m)
})
