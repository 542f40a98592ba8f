import assert from 'node:assert/strict'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { startCli } from '../../testing/run-command.ts'

it('stores a token for its service only, in a file that others cannot read', async test => {
  const { service, folder, baseUrl, run } = await startCli(test)
  const secret = service.tracker.trackerSecret
  const nothing = { environment: {} }
  const wrong = await run(['auth', 'login', '--base-url', service.url], {
    ...nothing,
    input: 'sbx_sk_wrong\n',
  })
  assert.equal(wrong.code, 4)
  assert.doesNotMatch(wrong.stderr, /sbx_sk_wrong/)
  const login = await run(['auth', 'login', '--base-url', service.url], {
    ...nothing,
    input: `${secret}\n`,
  })
  assert.deepEqual([login.code, login.stdout], [0, ''])
  const path = join(folder, '.config', 'signalbox', 'credentials.json')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(join(path, '..')), ['credentials.json'])

  assert.equal((await run(['events', 'list'], nothing)).code, 0)
  const elsewhere = await run(['events', 'list', '--base-url', 'http://127.0.0.1:1'], nothing)
  assert.equal(elsewhere.code, 4)
  assert.match(
    elsewhere.stderr,
    new RegExp(`The stored token is for ${baseUrl}, so it is not sent`),
  )

  const status = await run(['auth', 'status'])
  assert.match(status.stdout, /State +works\nSIGNALBOX_TOKEN wins over the stored token\.\n$/)
  assert.doesNotMatch(status.stdout, new RegExp(secret))

  chmodSync(path, 0o644)
  const open = await run(['events', 'list'], nothing)
  assert.equal(open.code, 4)
  assert.match(open.stderr, /can be read by other users, so the token in it is not used\./)
  chmodSync(path, 0o600)
  chmodSync(join(path, '..'), 0o755)
  assert.equal((await run(['events', 'list'], nothing)).code, 4)
  chmodSync(join(path, '..'), 0o700)

  await run(['auth', 'logout'], nothing)
  assert.equal((await run(['auth', 'status'], nothing)).code, 4)
})
