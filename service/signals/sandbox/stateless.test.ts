import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runProgram } from '../../../testing/fixtures/program.ts'

const CALLS = 1_000
const ROOT = join(import.meta.dirname, '../../..')

/** Node denies the program all writes and child processes; it may read its own code. */
const WITHOUT_DISK = ['--permission', '--allow-fs-read=*', '--input-type=module', '--eval']

it('serves 1,000 calls without a database and without write access to files', async () => {
  const { code, stdout: log, stderr: terminal } = await runProgram([...WITHOUT_DISK, PROGRAM])
  assert.equal(code, 0, terminal)
  const { mayWrite, counts } = JSON.parse(log)
  assert.equal(mayWrite, false)
  const each = CALLS / 5
  assert.deepEqual(counts, { 200: 3 * each, 201: each, 422: each })
})

const moduleAt = (path: string) => JSON.stringify(pathToFileURL(join(ROOT, path)).href)

const PROGRAM = `
  import { guardRoutes } from ${moduleAt('service/signals/access/guard-routes.ts')}
  import { createServiceApp } from ${moduleAt('service/runtime/http/service-app.ts')}
  import { createLogger } from ${moduleAt('service/runtime/http/logger.ts')}
  import { createOfflinePlatforms } from ${moduleAt('service/signals/platforms/registry.ts')}
  import { sandboxRoutes } from ${moduleAt('service/signals/sandbox/routes.ts')}

  const app = createServiceApp(createLogger('silent'))
  guardRoutes(app, () => Promise.reject(new Error('unexpected authentication')))
  sandboxRoutes(app, {
    platforms: createOfflinePlatforms(),
    credentialKeys: { current: Buffer.alloc(32, 7) },
    settings: {},
    limits: { sandbox: null },
    now: () => new Date(),
    publicOrigin: () => 'https://signalbox.example',
  })

  const counts = {}
  const call = async (method, url, more = {}) => {
    const answer = await app.inject({ method, url, ...more })
    counts[answer.statusCode] = (counts[answer.statusCode] ?? 0) + 1
    return answer.json()
  }
  const event = { user_data: { em: 'jane@example.com' }, visitor_id: 'visitor-1' }
  for (let round = 0; round < ${CALLS / 5}; round += 1) {
    await call('GET', '/sandbox')
    const { use } = await call('GET', '/sandbox/keys')
    await call('POST', '/sandbox/keys')
    const headers = { authorization: use.authorization }
    const url = '/sandbox/keyed-events'
    await call('POST', url, { headers, body: { ...event, event_name: 'Lead', event_id: 'e' + round } })
    await call('POST', url, { headers, body: event })
  }
  await app.close()
  console.log(JSON.stringify({ mayWrite: process.permission.has('fs.write'), counts }))
`
