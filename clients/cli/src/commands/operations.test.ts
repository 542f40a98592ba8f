import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startCli } from '../../testing/run-command.ts'

it('switches test mode, sends a test purchase and replays', async test => {
  const { service, run } = await startCli(test)
  const id = service.tracker.destinationId
  assert.ok(id)
  const off = await run(['destinations', 'test-purchase', id])
  assert.equal(off.code, 6)
  const on = await run(['destinations', 'test-mode', id, 'on', '--code', 'TEST123'])
  assert.match(on.stdout, /^! Test mode is on: .+\n {2}Code +TEST123\n {2}Until +2026-/)
  const sent = await run(['destinations', 'test-purchase', id])
  assert.match(sent.stdout, /^✓ The platform accepted the test purchase\.\n/)
  const again = await run(['destinations', 'test-mode', id, 'off'])
  assert.match(again.stdout, /^✓ Test mode is off/)
  const replay = await run(['deliveries', 'replay', '--limit', '10'])
  assert.match(replay.stdout, /^✓ 0 failed deliveries queued again\.\n/)
})

it('prints reports', async test => {
  const { run } = await startCli(test)
  const none = await run(['reports', 'reconciliation', '--date', '2026-11-19'])
  assert.deepEqual(none, {
    code: 0,
    stdout: '',
    stderr: 'There is no report for 2026-11-19 yet.\n',
  })
  const { stdout } = await run(['reports', 'reconciliation', '--json'])
  assert.equal(JSON.parse(stdout).date, '2026-11-20')
  const csv = await run(['reports', 'emq', '--csv'])
  assert.equal(csv.stdout, 'measured_at,destination_id,score,week_over_week_change,alerted\r\n')
  assert.equal((await run(['reports', 'reconciliation', '--date', '2026-02-30'])).code, 2)
})

it('erases a person only when it may', async test => {
  const { run } = await startCli(test)
  const event = ['--name', 'Lead', '--consent-basis', 'consent', '--email', 'ada@example.com']
  await run(['events', 'create', ...event])
  const unasked = await run(['user-data', 'delete', '--email', 'ada@example.com'])
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /no terminal to ask on: use --yes/)
  const erased = await run(['user-data', 'delete', '--email', 'Ada@example.com', '--yes'])
  assert.match(erased.stdout, /^✓ The person is erased\.\n[\s\S]* {2}Events +1\n/)
  const both = ['user-data', 'delete', '--email', 'a@b.example', '--hash', 'x', '--yes']
  assert.equal((await run(both)).code, 2)
})

it('tries the sandbox without a token', async test => {
  const { service, run } = await startCli(test)
  const environment = { SIGNALBOX_BASE_URL: service.url }
  const { code, stdout } = await run(['sandbox', 'try'], { environment })
  assert.equal(code, 0)
  assert.match(stdout, /✓ Valid[\s\S]*Nothing was stored or sent\./)
})

it('says what is wrong with address, token, clock and destination', async test => {
  const { service, run } = await startCli(test)
  // The HTTP server tells the real time, and the clock of the test another one.
  const skewed = await run(['doctor'])
  assert.equal(skewed.code, 1)
  assert.match(skewed.stdout, /✓ Address[\s\S]*✓ Contract[\s\S]*✗ Clock +This clock is \d+ seconds/)
  assert.match(skewed.stdout, /✓ Token[\s\S]*! Destination +No event was planned/)
  const verbose = await run(['doctor', '--verbose'])
  assert.match(verbose.stderr, /^GET \/dashboard\/events 200 \d+ ms req_/m)
  const checks = async (environment: Record<string, string>) => {
    const { code, stdout } = await run(['doctor', '--json'], { environment })
    return { code, checks: JSON.parse(stdout).checks }
  }
  const none = await checks({ SIGNALBOX_BASE_URL: 'http://127.0.0.1:1' })
  assert.equal(none.code, 7)
  assert.equal(none.checks[0].state, 'failed')
  const unknown = await checks({ SIGNALBOX_BASE_URL: service.url, SIGNALBOX_TOKEN: 'sbx_sk_wrong' })
  const token = unknown.checks.find(({ name }: { name: string }) => name === 'Token')
  assert.equal(token.state, 'failed')
})
