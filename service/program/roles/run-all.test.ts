import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import {
  createInstallation,
  DEFAULT_HTTP_WORKERS,
  type ReadyProgram,
} from '../../../testing/fixtures/program.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Credentials } from '../provisioning/credentials-file.ts'

// A shell would take this name apart if it were not quoted.
const FOLDER_NAME = "jane's $HOME data"

it('the first start on an empty folder needs no settings', async test => {
  const place = createInstallation(test, { folderName: FOLDER_NAME, isEmpty: true })
  const program = await place.startReady({
    environment: { ...DEFAULT_HTTP_WORKERS, SIGNALBOX_DATADIR: '/elsewhere' },
  })
  const part = (title: string, run: (part: TestContext) => Promise<void>) => test.test(title, run)

  await part('/livez and /readyz return 200', async () => {
    const livez = await fetch(`${program.url}/livez`)
    assert.deepEqual([livez.status, await livez.json()], [200, { status: 'ok' }])
    const readyz = await fetch(`${program.url}/readyz`)
    const circuits = { open: 0, half_open: 0, throttled: 0 }
    const ready = { status: 'ok', failed: [], circuits }
    assert.deepEqual([readyz.status, await readyz.json()], [200, ready])
  })

  await part('PostgreSQL runs in a folder that only its owner may enter, root or not', async () => {
    assert.equal(statSync(dirname(place.dataFolder)).mode & 0o777, 0o700)
    assert.notEqual(place.postgresProcessId(), null)
  })

  await part('credentials.json is private and has exactly twelve members', async () => {
    const path = join(place.dataFolder, 'credentials.json')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const credentials = place.credentials()
    assert.deepEqual(Object.keys(credentials), [
      'base_url',
      'tracker_id',
      'tracker_secret',
      'publishable_key',
      'forwarding_secret',
      'destination_id',
      'simulator_url',
      'workspace_id',
      'ad_account_id',
      'owner_email',
      'owner_password',
      'execution_token',
    ])
    assert.equal(credentials.base_url, `${program.url}/api/v1`)
    assert.match(credentials.tracker_secret, /^sbx_sk_[0-9a-f]{72}$/)
    assert.equal((await fetch(`${credentials.simulator_url}/_simulator/health`)).status, 200)
  })

  await part('the demo owner signs in, and an email is written to a file', async () => {
    const { owner_email: email, owner_password: password, workspace_id } = place.credentials()
    const browser = new PageClient(program.url)
    const fields = { email: email ?? '', password: password ?? '' }
    assert.equal((await browser.post('/sign-in', fields)).path, '/workspaces')
    const path = `/browser/workspaces/${workspace_id}/ad-accounts`
    const { ad_accounts: accounts } = (await browser.call('GET', path)).body
    assert.equal(accounts[0].name, 'Demo ad account')
    assert.ok(!`${program.stderr()}${program.stdout()}`.includes(fields.password))
    await browser.post('/forgot', fields)
    await waitUntil('an email', () => place.emails().length === 1)
    assert.equal(statSync(join(place.dataFolder, 'outbox')).mode & 0o777, 0o700)
  })

  await part('the printed address leads a browser to sign-in', async () => {
    const [, address = ''] = /^ {2}dashboard +(\S+)$/m.exec(program.stderr()) ?? []
    const response = await fetch(address, { headers: { accept: 'text/html' } })
    assert.equal(response.status, 200)
    assert.match(await response.text(), /<h1>Sign in<\/h1>/)
  })

  await part('neither the terminal nor the log shows a secret', async () => {
    const printed = program.stderr() + program.stdout()
    for (const name of ['postgres.password', 'credential-key']) {
      const secret = readFileSync(join(place.dataFolder, name), 'utf8').trim()
      assert.ok(secret.length > 30)
      assert.ok(!printed.includes(secret), name)
    }
    const { tracker_secret, forwarding_secret, execution_token } = place.credentials()
    for (const secret of [tracker_secret, forwarding_secret, execution_token]) {
      assert.ok(secret && !printed.includes(secret))
    }
    assert.ok(printed.includes(join(place.dataFolder, 'credentials.json')))
  })

  await part('the printed curl commands work, and the purchase reaches the simulator', async () => {
    const [send = '', read = ''] = curlCommands(program)
    const response = await bash(send)
    assert.match(response, /^HTTP\/1.1 202 Accepted\r\n/)
    const [, body = ''] = response.split('\r\n\r\n')
    const accepted = { event_id: 'order-1001', duplicate: false, warnings: [], notices: [] }
    assert.deepEqual(JSON.parse(body), accepted)

    await waitUntil('the purchase is accepted', async () => {
      const { deliveries } = JSON.parse(await bash(read))
      return deliveries[0].status === 'accepted'
    })
    const { simulator_url } = place.credentials()
    const received = await fetch(`${simulator_url}/_simulator/received?event_id=order-1001`)
    const { count, events } = (await received.json()) as { count: number; events: unknown[] }
    assert.equal(count, 1)
    assert.deepEqual((events[0] as { custom_data: unknown }).custom_data, {
      value: 19.95,
      currency: 'EUR',
      order_id: '1001',
    })
  })

  await part('the log warns of an unknown variable, and names the nearest setting', async () => {
    const warnings = logLines(program).filter(({ level }) => level === 'warn')
    assert.deepEqual(
      warnings.map(({ msg }) => msg),
      ['SIGNALBOX_DATADIR is not a setting; did you mean SIGNALBOX_DATA_DIR?'],
    )
  })

  await part('provision creates another tracker for the same simulator', async () => {
    const path = join(place.dataFolder, 'shop.json')
    const provision = place.start({
      role: 'provision',
      arguments: ['--without-owner', '--out', path],
    })
    assert.deepEqual(await provision.exited, { code: 0, signal: null })
    const demo = place.credentials()
    const shop: Credentials = JSON.parse(readFileSync(path, 'utf8'))
    assert.deepEqual(Object.keys(shop), Object.keys(demo))
    assert.equal(shop.base_url, demo.base_url)
    assert.equal(shop.simulator_url, demo.simulator_url)
    assert.notEqual(shop.tracker_id, demo.tracker_id)
    const headers = { authorization: `Bearer ${shop.tracker_secret}` }
    const foreign = await fetch(`${shop.base_url}/events/order-1001`, { headers })
    assert.equal(foreign.status, 404)
  })

  await part(
    'a second start on the same folder is refused, and the first one continues',
    async () => {
      const second = place.start()
      assert.deepEqual(await second.exited, { code: 1, signal: null })
      assert.equal(
        second.stderr(),
        `Another Signalbox (process ${program.process.pid}) is already using ` +
          `${place.dataFolder}: stop that one, or give this one a SIGNALBOX_DATA_DIR of its own.\n`,
      )
      assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
      assert.equal(place.credentials().base_url, `${program.url}/api/v1`)
    },
  )

  await part('shutdown leaves the data and no lock file', async () => {
    assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
    assert.ok(existsSync(join(place.dataFolder, 'credentials.json')))
    assert.ok(!existsSync(join(place.dataFolder, 'owner.json')))
    assert.equal(place.postgresProcessId(), null)
  })
})

/** The commands as an operator copies them: from `curl` to the last line without a `\`. */
function curlCommands(program: ReadyProgram): string[] {
  const commands = program.stderr().matchAll(/^ {2}(curl(?:.*\\\n)*.*)$/gm)
  return [...commands].map(([, command = '']) => command)
}

async function bash(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-c', command])
  return stdout
}

function logLines(program: ReadyProgram): { level: string; msg: string }[] {
  return program
    .stdout()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}
