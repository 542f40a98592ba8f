// Full run only: a whole service; python-sdk.test.ts is in every run.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import {
  assertLeadsAccepted,
  checkSampleProgram,
  deliverDuring,
  startProgramService,
} from '../service-programs.ts'
import { openPython, readmePrograms, runPython, temporaryFolder } from './python-tools.ts'

const TIMEOUT = { timeout: 600_000 }

it('every operation and example works with a service', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const { service, environment } = await startProgramService(test)
  const tests = runPython(python, ['-m', 'pytest', 'tests/service', '-rs'], { environment })
  const output = await deliverDuring(service, tests)
  assert.match(output, /^\d+ passed in/m)
  assert.doesNotMatch(output, /skipped/)
})

it('runs every program of README.md', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const { service, environment } = await startProgramService(test)
  const folder = temporaryFolder(test)
  const programs = readmePrograms()
  assert.equal(programs.length, 6)
  // The service has its own clock, hours away from that of the program.
  const now = `datetime.fromisoformat("${service.clock.now().toISOString()}").astimezone(UTC)`
  for (const [at, program] of programs.entries()) {
    const path = join(folder, `program_${at}.py`)
    writeFileSync(path, program.replaceAll('datetime.now(UTC)', now))
    assert.notEqual(await runPython(python, [path], { environment }), '')
  }
  await assertLeadsAccepted(service)
})

it('sends the purchases of a shop, equal to the cent', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const started = await startProgramService(test)
  const { environment } = started
  await checkSampleProgram(started, async (sample, lines) => {
    const options = ['--first', lines, '--now', environment.SIGNALBOX_TEST_NOW]
    const program = ['examples/cdnow.py', sample, ...options]
    return JSON.parse(await runPython(python, program, { environment }))
  })
})
