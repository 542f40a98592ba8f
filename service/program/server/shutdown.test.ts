// Full run only: starts whole programs; main.test.ts ends some in every run.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startEventLoad } from '../../../testing/crash/event-load.ts'
import {
  createInstallation,
  type ReadyProgram,
  type TestInstallation,
} from '../../../testing/fixtures/program.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** What npm takes to hand on a signal that the whole group was sent. */
const ECHO_MILLISECONDS = [2, 20, 50]

describe('the end of the program', () => {
  for (const workers of ['0', '2']) {
    it(`SIGTERM under load loses nothing that was answered, with ${workers} HTTP workers`, async test => {
      const place = createInstallation(test)
      const environment = {
        SIGNALBOX_HTTP_WORKERS: workers,
        SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
      }
      let program = await place.startReady({ environment })
      let target = place.credentials()
      const load = startEventLoad({
        connections: 16,
        pauseMilliseconds: 1,
        target: () => target,
      })
      for (const echo of ECHO_MILLISECONDS) {
        const before = load.acknowledged.size
        await waitUntil('the load runs', () => load.acknowledged.size > before + 20)
        const ended = program.kill('SIGTERM')
        await delay(echo)
        program.process.kill('SIGTERM')
        assert.deepEqual(await ended, { code: 0, signal: null })
        assertNothingLeft(place)
        const { postmasterLog } = await startAgain()
        assert.doesNotMatch(postmasterLog, /was interrupted|not properly shut down/)
      }
      await load.stop()
      assert.deepEqual(load.unexpectedResponses, [])
      // Every acknowledged event must be stored: a second 202 would mean that it was lost.
      for (const event_id of load.acknowledged) {
        assert.equal(await statusOf(program, place, event_id), 200, event_id)
      }
      assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })

      async function startAgain() {
        program = await place.startReady({ environment })
        target = place.credentials()
        return { postmasterLog: postgresLog(place) }
      }
    })
  }

  it('a second signal that comes later ends the program at once', async test => {
    const place = createInstallation(test)
    const program = await place.startReady({ environment: { SIGNALBOX_HTTP_WORKERS: '1' } })
    // A client that stalls in the middle of a body holds up the end for five seconds.
    const { hostname, port } = new URL(program.url)
    const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {})
    await once(socket, 'connect')
    const head = [
      'POST /api/v1/events HTTP/1.1',
      `host: ${hostname}`,
      `authorization: Bearer ${place.credentials().tracker_secret}`,
      'content-type: application/json',
      'content-length: 1000',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n{`)
    await fetch(`${program.url}/livez`)
    const ended = program.kill('SIGTERM')
    await delay(1_500)
    program.process.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 1, signal: null })
  })

  for (const to of ['npm alone', 'the whole group'] as const) {
    it(`npm start ends whole when SIGTERM comes to ${to}`, async test => {
      const place = createInstallation(test)
      const npm = await npmStart(test, place)
      const ended = once(npm, 'exit')
      if (to === 'npm alone') npm.kill('SIGTERM')
      else process.kill(-(npm.pid as number), 'SIGTERM')
      assert.deepEqual(await ended, [0, null])
      assert.deepEqual(processesOfGroup(npm.pid as number), [])
      assertNothingLeft(place)
    })
  }
})

function assertNothingLeft(place: TestInstallation): void {
  assert.equal(place.postgresProcessId(), null)
  assert.ok(!existsSync(join(place.dataFolder, 'owner.json')))
}

function postgresLog({ dataFolder }: TestInstallation): string {
  const path = join(dataFolder, 'postgres.log')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

async function statusOf(
  { url }: ReadyProgram,
  place: TestInstallation,
  event_id: string,
): Promise<number> {
  const headers = { authorization: `Bearer ${place.credentials().tracker_secret}` }
  const response = await fetch(`${url}/api/v1/events/${event_id}`, { headers })
  await response.text()
  return response.status
}

/** `npm start` in a process group of its own, as a supervisor starts it; resolves when it is ready. */
async function npmStart(
  test: TestContext,
  { dataFolder }: TestInstallation,
): Promise<ChildProcess> {
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      SIGNALBOX_DATA_DIR: dataFolder,
    },
  })
  test.after(() => {
    for (const id of processesOfGroup(npm.pid as number)) process.kill(id, 'SIGKILL')
  })
  let said = ''
  npm.stderr?.on('data', chunk => {
    said += chunk
  })
  await waitUntil('npm start is ready', () => said.includes('Signalbox is ready at'))
  return npm
}

/** Process ids; a zombie counts for nothing. */
function processesOfGroup(group: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(id => {
      try {
        const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
        const [state, , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return state !== 'Z' && processGroup === String(group)
      } catch {
        return false
      }
    })
}
