import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { spawnProgram } from '../../../../testing/fixtures/program.ts'
import { waitUntil } from '../../../../testing/fixtures/wait-until.ts'
import { startCli } from '../../testing/run-command.ts'

const MAIN = join(import.meta.dirname, '..', 'main.ts')
const FILL = ['--name', 'Purchase', '--currency', 'EUR', '--consent-basis', 'consent']

it('sends a CSV file once, however often it runs, and keeps refused lines', async test => {
  const { folder, run } = await startCli(test)
  const path = join(folder, 'orders.csv')
  const rows = [
    'order_id;total;mail;note',
    '1;19.90;ada@example.com;"first\nline"',
    '2;19,90;bob@example.com;x',
    '3;5.00;;"say ""hi"""',
    '4;1.00',
  ]
  writeFileSync(path, `\ufeff${rows.join('\r\n')}\r\n`)
  const map = ['--map', 'total=value', '--map', 'mail=email']
  const unknown = await run(['events', 'create', '--file', path, ...map])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /No member of an event is named "note"\.\nMap it/)
  const command = ['events', 'create', '--file', path, ...map, '--map', 'note=', ...FILL]
  const dry = await run([...command, '--dry-run', '--json'])
  assert.equal(dry.code, 6)
  const { lines, valid, refused, refusals, not_checked: unknownHere } = JSON.parse(dry.stdout)
  assert.ok(unknownHere.includes('consent_categories'))
  assert.deepEqual([lines, valid, refused], [4, 2, 2])
  assert.deepEqual(refusals[0].field, 'value_data.value')
  assert.equal(JSON.parse((await run(['events', 'list', '--json'])).stdout).events.total, 0)

  const first = JSON.parse((await run([...command, '--json'])).stdout)
  assert.deepEqual([first.lines, first.stored, first.duplicates, first.refused], [4, 2, 0, 2])
  const kept = readFileSync(first.refused_file, 'utf8').trim().split('\n')
  const [second, fourth] = kept.map(line => JSON.parse(line)).sort((a, b) => a.line - b.line)
  assert.equal(second.line, 4)
  assert.match(second.event.user_data.em, /^[0-9a-f]{64}$/)
  assert.deepEqual(fourth.reason, 'The line has 2 cells, and the header 4.')
  const again = JSON.parse((await run([...command, '--json'])).stdout)
  assert.deepEqual([again.stored, again.duplicates, again.refused], [0, 2, 2])

  second.event.value_data.value = '19.90'
  const corrected = join(folder, 'corrected.ndjson')
  writeFileSync(corrected, JSON.stringify(second))
  const sent = await run(['events', 'create', '--file', corrected])
  assert.match(sent.stdout, /corrected\.ndjson: 1 line\n {2}✓ 1 stored\n$/)
})

it('counts what is past the window of the platform', async test => {
  const { folder, run } = await startCli(test)
  const path = join(folder, 'old.ndjson')
  const old = { event_time: '2026-11-01T00:00:00Z' }
  const events = [old, { ...old, action_source: 'physical_store' }, { event_name: 7 }, old]
  writeFileSync(path, [...events.map(event => JSON.stringify(event)), 'no json', ''].join('\n'))
  const { code, stdout, stderr } = await run([
    'events',
    'create',
    '--file',
    path,
    ...FILL,
    '--dry-run',
  ])
  assert.equal(code, 6)
  assert.match(stdout, /^.+old\.ndjson: 5 lines checked, nothing was sent\.\n/)
  assert.match(stdout, / 3 {2}would be stored\n +2 {2}of these are past the window/)
  assert.match(
    stdout,
    / 2 {2}would be refused\n[\s\S]*line 5 {2}The line is not JSON\.\nNot checked, .+\n$/,
  )
  assert.match(stderr, /^1\/5 /)
})

it('reads standard input, and says where the reader of a folder went wrong', async test => {
  const { run } = await startCli(test)
  const input = '{"event_id":"a"}\n{"event_id":"b"}'
  const { stdout } = await run(['events', 'create', '--file', '-', ...FILL, '-q'], { input })
  assert.match(stdout, /^standard input: 2 lines\n {2}✓ 2 stored\n$/)
})

it('waits for the limit of the tracker, then sends the rest of a batch', async test => {
  const { folder, run } = await startCli(test, {
    limits: { trackerRatePerSecond: 50 },
    isShared: false,
  })
  const path = join(folder, 'limited.ndjson')
  const lines = Array.from({ length: 250 }, (_, at) => JSON.stringify({ visitor_id: `v${at}` }))
  writeFileSync(path, lines.join('\n'))
  const { code, stdout } = await run(['events', 'create', '--file', path, ...FILL, '--json', '-q'])
  const { stored, duplicates, refused } = JSON.parse(stdout)
  assert.deepEqual([code, stored, duplicates, refused], [0, 250, 0, 0])
})

it('loses and doubles nothing when it is killed in the middle of a file', async test => {
  const { environment, folder, run } = await startCli(test)
  const path = join(folder, 'many.ndjson')
  const count = 2_000
  const lines = Array.from({ length: count }, (_, at) => JSON.stringify({ visitor_id: `v${at}` }))
  writeFileSync(path, `${lines.join('\n')}\n`)
  const command = ['events', 'create', '--file', path, ...FILL]
  const total = async () =>
    JSON.parse((await run(['events', 'list', '--per-page', '1', '--json'])).stdout).events.total
  const program = spawnProgram([MAIN, ...command, '--concurrency', '2'], environment)
  await waitUntil('some events are stored', async () => (await total()) > 20)
  await program.kill('SIGKILL')
  const before = await total()
  assert.ok(before < count, `killed too late: ${before}`)
  const { stdout } = await run([...command, '--json'])
  const { stored, duplicates } = JSON.parse(stdout)
  assert.equal(stored + duplicates, count)
  assert.ok(duplicates >= 20)
  assert.equal(await total(), count)
  assert.equal(existsSync(`${path}.refused.ndjson`), false)
})
