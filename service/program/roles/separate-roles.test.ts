// Full run only: starts a program for each role.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import { createDatabaseFromTemplate } from '../../../testing/fixtures/database.ts'
import {
  createInstallation,
  startSimulatorProcess,
  type TestInstallation,
} from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Credentials } from '../provisioning/credentials-file.ts'

const EVENTS_A_TRACKER = 100
const UNIX_SUCCESS = { code: 0, signal: null }

it('serve, deliver and the commands share an external PostgreSQL as separate processes', async test => {
  const place = createInstallation(test)
  const environment = { DATABASE_URL: await createDatabaseFromTemplate(test, 'template0') }
  const part = (title: string, run: () => Promise<void>) => test.test(title, run)

  await part('serve refuses a database without the schema', async () => {
    const program = place.start({ role: 'serve', environment })
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.match(
      program.stderr(),
      /^The database lacks \d+ migration\(s\): run "signalbox-server migrate" first\.\n$/,
    )
  })

  await part('migrate can run twice at the same time, and again', async () => {
    const both = [1, 2].map(() => place.start({ role: 'migrate', environment }))
    for (const program of both) assert.deepEqual(await program.exited, UNIX_SUCCESS)
    const printed = both.map(program => program.stderr()).sort()
    assert.match(printed[0] ?? '', /^Migrated: 0001-ledger-and-deliveries\b.*\n$/)
    assert.equal(printed[1], 'The schema is up to date.\n')
  })

  const serve = place.start({ role: 'serve', environment })
  const [, url = ''] = await serve.waitForOutput(/^Signalbox serves at (\S+)$/m)
  await part('/readyz of serve returns 200 without circuits', async () => {
    const readyz = await fetch(`${url}/readyz`)
    assert.deepEqual([readyz.status, await readyz.json()], [200, { status: 'ok', failed: [] }])
  })

  const trackers = await provisionTwo(place, { ...environment, SIGNALBOX_PUBLIC_ORIGIN: url })

  await part(
    'provision writes the same members as npm start, readable only by the owner of the file',
    async () => {
      for (const { path, credentials } of trackers) {
        assert.equal(statSync(path).mode & 0o777, 0o600)
        assert.deepEqual(Object.keys(credentials), [
          'base_url',
          'tracker_id',
          'tracker_secret',
          'publishable_key',
          'forwarding_secret',
          'destination_id',
          'simulator_url',
          ...['workspace_id', 'ad_account_id', 'owner_email', 'owner_password'],
          'execution_token',
        ])
        assert.equal(credentials.base_url, `${url}/api/v1`)
        assert.equal(credentials.simulator_url, null)
        assert.ok(Number.isInteger(credentials.workspace_id))
        assert.equal(credentials.owner_email, null)
        assert.equal(credentials.execution_token, null)
      }
    },
  )

  await part(
    'provision does not overwrite a file, which may hold the only copy of a secret',
    async () => {
      const [{ path }] = trackers
      const before = readFileSync(path, 'utf8')
      const program = place.start({
        role: 'provision',
        arguments: ['--without-owner', '--out', path],
        environment,
      })
      assert.deepEqual(await program.exited, { code: 1, signal: null })
      assert.equal(program.stderr(), `${path} already exists: name a new file.\n`)
      assert.equal(readFileSync(path, 'utf8'), before)
    },
  )

  await part('returns 404 for an event of another tracker', async () => {
    const [ours, theirs] = trackers
    assert.equal(await submit(ours.credentials, 'private'), 202)
    assert.equal((await read(theirs.credentials, 'private')).status, 404)
    assert.equal((await read(ours.credentials, 'private')).status, 200)
    assert.equal(await submit(theirs.credentials, 'private'), 202)
  })

  await part('two workers deliver what serve accepted, each event once', async () => {
    const simulatorUrl = await startSimulatorProcess(test)
    const workers = [1, 2].map(() =>
      place.start({
        role: 'deliver',
        environment: { ...environment, SIGNALBOX_PLATFORM_URL: simulatorUrl },
      }),
    )
    for (const worker of workers) await worker.waitForOutput(/^Signalbox delivers to http/)
    for (const { credentials } of trackers) {
      for (let count = 1; count <= EVENTS_A_TRACKER; count += 1) {
        assert.equal(await submit(credentials, `shared-${count}`), 202)
      }
    }
    const expected = trackers.length * (EVENTS_A_TRACKER + 1)
    await waitUntil('everything is received', async () => {
      const { unique_events } = await summary(simulatorUrl)
      return unique_events === expected
    })
    assert.deepEqual((await summary(simulatorUrl)).receipts, expected)
    for (const worker of workers) assert.deepEqual(await worker.kill('SIGTERM'), UNIX_SUCCESS)
  })

  await part('all joins them and does not write credentials of their trackers', async () => {
    const all = await place.startReady({ environment })
    assert.match(all.stderr(), /^ {2}store {8}PostgreSQL at DATABASE_URL\n/m)
    assert.match(all.stderr(), /^ {2}credentials {2}none here; /m)
    assert.equal(existsSync(join(place.dataFolder, 'credentials.json')), false)
    const base_url = `${all.url}/api/v1`
    for (const { credentials } of trackers) {
      assert.equal((await read({ ...credentials, base_url }, 'private')).status, 200)
    }
    assert.deepEqual(await all.kill('SIGTERM'), UNIX_SUCCESS)
  })

  await part('serve exits with 0 and PostgreSQL continues', async () => {
    assert.deepEqual(await serve.kill('SIGTERM'), UNIX_SUCCESS)
    const again = place.start({ role: 'migrate', environment })
    assert.deepEqual(await again.exited, UNIX_SUCCESS)
    assert.equal(place.postgresProcessId(), null)
  })
})

interface Provisioned {
  path: string
  credentials: Credentials
}

async function provisionTwo(
  place: TestInstallation,
  environment: Record<string, string>,
): Promise<[Provisioned, Provisioned]> {
  const provision = async (name: string): Promise<Provisioned> => {
    const path = join(dirname(place.dataFolder), 'trackers', `${name}.json`)
    const program = place.start({
      role: 'provision',
      arguments: ['--without-owner', '--out', path, '--name', name],
      environment,
    })
    assert.deepEqual(await program.exited, UNIX_SUCCESS)
    assert.match(
      program.stderr(),
      /^The credentials of workspace \d+ are in \S+\.json\nIt has no owner, /,
    )
    const credentials: Credentials = JSON.parse(readFileSync(path, 'utf8'))
    const { tracker_secret, publishable_key, forwarding_secret } = credentials
    for (const key of [tracker_secret, publishable_key, forwarding_secret]) {
      assert.ok(!program.stderr().includes(key))
    }
    return { path, credentials }
  }
  return Promise.all([provision('first'), provision('second')])
}

async function submit(
  { base_url, tracker_secret }: Credentials,
  event_id: string,
): Promise<number> {
  const response = await fetch(`${base_url}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(samplePurchase({ event_id, consent: { ad_user_data: 'granted' } })),
  })
  return response.status
}

function read({ base_url, tracker_secret }: Credentials, eventId: string): Promise<Response> {
  const headers = { authorization: `Bearer ${tracker_secret}` }
  return fetch(`${base_url}/events/${eventId}`, { headers })
}

async function summary(url: string): Promise<{ unique_events: number; receipts: number }> {
  return (await fetch(`${url}/_simulator/summary`)).json() as never
}
