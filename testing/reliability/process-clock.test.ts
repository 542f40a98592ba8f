import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { runProgram } from '../fixtures/program.ts'

const PROGRAM = `
  const [seconds] = process.hrtime()
  const [elapsed] = process.hrtime([seconds, 0])
  const moment = new Date('2026-11-21T12:00:00Z')
  console.log(JSON.stringify({
    now: Date.now(), created: new Date().getTime(), text: Date.parse(Date()), seconds, elapsed,
    isDate: moment instanceof Date, iso: moment.toISOString(), utc: Date.UTC(2026, 0, 1),
  }))`

it('moves the time of day and the monotonic clock of a program, and nothing else', async test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-clock-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'clock.json')
  writeFileSync(file, '{"wallSeconds":-240,"monotonicSeconds":3600}')
  const preload = join(import.meta.dirname, 'process-clock.ts')
  const { stdout, stderr } = await runProgram(['--import', preload, '-e', PROGRAM], {
    RELIABILITY_CLOCK_FILE: file,
  })
  assert.equal(stderr, '')
  const told = JSON.parse(stdout)
  const expected = Date.now() - 240_000
  for (const time of [told.now, told.created, told.text]) {
    assert.ok(Math.abs(time - expected) < 60_000, `${time} is not near ${expected}`)
  }
  const [seconds] = process.hrtime()
  assert.ok(Math.abs(told.seconds - seconds - 3_600) < 60)
  assert.ok(told.elapsed < 60)
  assert.deepEqual(
    [told.isDate, told.iso, told.utc],
    [true, '2026-11-21T12:00:00.000Z', Date.UTC(2026, 0, 1)],
  )
})
