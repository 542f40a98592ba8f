// Full run only: starts whole programs and takes their store away.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { readCommandLine } from '@signalbox/embedded-postgres/process-identity.ts'
import {
  createInstallation,
  DEFAULT_HTTP_WORKERS,
  isReachable,
  type ReadyProgram,
  type TestInstallation,
} from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'

describe('a service that loses its database or simulator', { concurrency: true }, () => {
  // The service does not restart what it depends on: it logs the loss and exits with code 1, and a
  // supervisor (systemd, Docker, Kubernetes) restarts it together with its store.
  it('exits with 1 when PostgreSQL or the simulator is lost, so that a supervisor restarts it', async test => {
    const place = createInstallation(test)
    const first = await place.startReady({ environment: DEFAULT_HTTP_WORKERS })
    assert.equal(await submit(place), 202)

    await test.test('PostgreSQL is killed: a fatal line, exit code 1, nothing left', async () => {
      const simulator = place.credentials().simulator_url ?? ''
      const postgres = place.postgresProcessId() ?? 0
      process.kill(postgres, 'SIGKILL')
      assert.deepEqual(await first.exited, { code: 1, signal: null })
      assert.deepEqual(fatalLines(first), [
        `The embedded PostgreSQL (process ${postgres}) was ended by signal SIGKILL.`,
      ])
      assert.equal(await isReachable(simulator), false)
    })

    const second = await place.startReady()
    await test.test('the next start recovers what was acknowledged', async () => {
      assert.equal(await submit(place), 200)
    })

    await test.test(
      'the simulator is killed: a fatal log line, exit code 1, nothing left',
      async () => {
        process.kill(simulatorOf(second), 'SIGKILL')
        assert.deepEqual(await second.exited, { code: 1, signal: null })
        assert.deepEqual(fatalLines(second), ['The simulator exited: no error output'])
        assert.equal(place.postgresProcessId(), null)
      },
    )
  })

  it('also exits with 1 when it loses a PostgreSQL that it adopted after a kill', async test => {
    const place = createInstallation(test)
    const killed = await place.startReady()
    await killed.kill('SIGKILL')
    const heir = await place.startReady()
    assert.match(heir.stderr(), /\(adopted from an earlier run\)/)
    const postgres = place.postgresProcessId() ?? 0
    process.kill(postgres, 'SIGKILL')
    assert.deepEqual(await heir.exited, { code: 1, signal: null })
    assert.deepEqual(fatalLines(heir), [`The embedded PostgreSQL (process ${postgres}) exited.`])
  })
})

async function submit(place: TestInstallation): Promise<number> {
  const { base_url, tracker_secret } = place.credentials()
  const response = await fetch(`${base_url}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(samplePurchase({ consent: { ad_user_data: 'granted' } })),
  })
  return response.status
}

function fatalLines(program: ReadyProgram): string[] {
  const lines = program.stdout().trim().split('\n')
  return lines
    .map(line => JSON.parse(line) as { level: string; msg: string })
    .filter(({ level }) => level === 'fatal')
    .map(({ msg }) => msg)
}

/** The one child of the service that is no PostgreSQL. */
function simulatorOf({ process: { pid } }: ReadyProgram): number {
  const children = existsSync('/proc/self/task')
    ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    : execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
  const simulator = children
    .split(/\s+/)
    .map(Number)
    .find(child => readCommandLine(child)?.some(word => word.includes('graph-simulator')))
  assert.ok(simulator)
  return simulator
}
