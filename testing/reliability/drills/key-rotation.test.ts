// Full run only: a drill of operations.
// Runs alone: starts programs.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { SignatureError, verifySignedDocument } from '@signalbox/contract/verify-openapi.ts'
import type { Credentials } from '../../../service/program/provisioning/credentials-file.ts'
import { startEventLoad } from '../../crash/event-load.ts'
import { assertExactlyOnce } from '../../crash/exactly-once.ts'
import { createDatabaseFromTemplate, TEMPLATE_DATABASE } from '../../fixtures/database.ts'
import { PageClient } from '../../fixtures/page-client.ts'
import {
  createInstallation,
  type ReadyProgram,
  startSimulatorProcess,
} from '../../fixtures/program.ts'
import { waitUntil } from '../../fixtures/wait-until.ts'
import { assertKeysWork, assertSecretsWhole, tryKeys } from './installation-checks.ts'
import { readPageScript } from './page-commands.ts'
import { runToEnd } from './postgres-cluster.ts'

const PAGE = 'docs/operations/rotate-keys.md'
const OLD_KEY = '0'.repeat(64)
const UNAUTHENTICATED = 401

it('rotates every key under a load of events, and refuses no valid key', async test => {
  const { drill, load, platformUrl } = await startRotation(test)
  const { old, current, files, run } = drill
  const oldDocument = await fetchText(drill.url(), '/openapi.json')
  await run('(umask 077 && openssl rand')
  await run('curl -sf -o published-keys.json')
  await drill.issue('secret', 'tracker-secret.json')

  const newKey = readFileSync(files('credential-key.new'), 'utf8').trim()
  await drill.restart({
    SIGNALBOX_CREDENTIAL_KEY: OLD_KEY,
    SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: newKey,
    SIGNALBOX_CONTRACT_KEY_FILE: files('first.pem'),
    SIGNALBOX_CONTRACT_KEY_PREVIOUS_FILE: files('next-key.json'),
  })
  await drill.issue('publishable', 'publishable.json')

  const replaced = {
    SIGNALBOX_CREDENTIAL_KEY: newKey,
    SIGNALBOX_CONTRACT_KEY_FILE: files('contract-key.new.pem'),
  }
  await drill.restart({
    ...replaced,
    SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: OLD_KEY,
    SIGNALBOX_CONTRACT_KEY_PREVIOUS_FILE: files('published-keys.json'),
  })
  await run('curl -sf -o openapi.json')
  await verifySignedDocument(oldDocument, await fetchText(drill.url(), KEY_SET))
  await drill.issue('forwarding', 'forwarding-secret.json')
  await drill.issueExecutionToken()
  await assertKeysWork(drill.url(), old, 'old-keys')
  await assertKeysWork(drill.url(), current, 'new-keys')
  assert.match(await run('npx signalbox-server credential reseal'), /^Workspace 1: intact\. /m)

  await drill.restart(replaced)
  await run('npx signalbox-server key list')
  await drill.revokeOldKeys()
  await waitUntil('every old key is refused', () => areOldKeysRefused(drill))
  await load.stop()
  assert.deepEqual(load.unexpectedResponses, [])
  await assertKeysWork(drill.url(), current, 'rotated')
  await assertSecretsWhole(drill.environment())
  const { DATABASE_URL: connectionString } = drill.environment()
  await assertExactlyOnce({ connectionString, platformUrl }, load.acknowledged)
  const published = await fetchText(drill.url(), KEY_SET)
  await verifySignedDocument(await fetchText(drill.url(), '/openapi.json'), published)
  await assert.rejects(verifySignedDocument(oldDocument, published), SignatureError)
  test.diagnostic(
    `${load.acknowledged.size} events acknowledged, ${load.retries()} sent again by clients, ` +
      `${load.unexpectedResponses.length} refused`,
  )
})

const KEY_SET = '/.well-known/jwks.json'

async function fetchText(url: string, path: string): Promise<string> {
  return await (await fetch(`${url}${path}`)).text()
}

interface Drill {
  /** As provisioned. */
  old: Credentials
  /** With every key that was issued since. */
  current: Credentials
  files(name: string): string
  url(): string
  environment(): Record<string, string> & { DATABASE_URL: string }
  /** Runs a block of the page, with the settings of the running service. */
  run(begins: string, values?: Record<string, string>): Promise<string>
  /** As behind a load balancer: the next process is ready before the one before it ends. */
  restart(keys: Record<string, string>): Promise<void>
  issue(kind: string, file: string): Promise<void>
  issueExecutionToken(): Promise<void>
  revokeOldKeys(): Promise<void>
}

async function startRotation(test: TestContext) {
  const platformUrl = await startSimulatorProcess(test)
  const place = createInstallation(test)
  const store = {
    DATABASE_URL: await createDatabaseFromTemplate(test, TEMPLATE_DATABASE),
    SIGNALBOX_DATA_DIR: place.dataFolder,
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
  }
  const files = (name: string) => join(place.dataFolder, name)
  mkdirSync(place.dataFolder, { recursive: true })
  await runToEnd('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', files('first.pem')], {})
  let keys: Record<string, string> = {
    SIGNALBOX_CREDENTIAL_KEY: OLD_KEY,
    SIGNALBOX_CONTRACT_KEY_FILE: files('first.pem'),
  }
  let service: ReadyProgram = await place.startReady({ environment: { ...store, ...keys } })
  const old = place.credentials()
  const current = { ...old }
  const target = () => ({ ...current, base_url: `${service.url}/api/v1` })
  const load = startEventLoad({ connections: 4, pauseMilliseconds: 20, target })

  const environment = () => ({ ...store, ...keys })
  const run: Drill['run'] = (begins, values = {}) => {
    const placeholders = {
      ...values,
      '--tracker ID': `--tracker ${old.tracker_id}`,
      'https://events.example.com': service.url,
      'https://shop.example': 'http://127.0.0.1:*',
    }
    const script = readPageScript({ page: PAGE, begins, values: placeholders })
    const env = { PATH: process.env.PATH, ...environment() }
    return runToEnd('/bin/bash', ['-c', script], { cwd: place.dataFolder, env })
  }
  const revoke = (kind: string, key: string) =>
    run('npx signalbox-server key revoke', {
      '--kind secret': `--kind ${kind}`,
      c0de: key.slice(-4),
    })
  const drill: Drill = {
    old,
    current,
    files,
    url: () => service.url,
    environment,
    run,
    restart: async next => {
      const { size } = load.acknowledged
      await waitUntil('the load goes on', () => load.acknowledged.size > size)
      keys = next
      const before = service
      service = await place.startReady({ environment: environment() })
      assert.deepEqual(await before.kill('SIGTERM'), { code: 0, signal: null })
    },
    issue: async (kind, file) => {
      await run(`npx signalbox-server key issue --tracker ID --kind ${kind}`)
      Object.assign(current, JSON.parse(readFileSync(files(file), 'utf8')))
    },
    issueExecutionToken: async () => {
      const { ad_account_id } = old
      const body = { name: 'Second', tier: 'write', days: 30, ad_account_id }
      const owner = await signIn(service.url, old)
      const issued = await owner.call('POST', tokensPath(old), { body })
      assert.equal(issued.status, 201)
      current.execution_token = issued.body.token
    },
    revokeOldKeys: async () => {
      await revoke('secret', old.tracker_secret)
      await revoke('publishable', old.publishable_key)
      await revoke('forwarding', old.forwarding_secret)
      const owner = await signIn(service.url, old)
      const { body } = await owner.call('GET', tokensPath(old))
      const { id } = body.tokens.find(({ name }: { name: string }) => name !== 'Second')
      assert.equal((await owner.call('DELETE', `${tokensPath(old)}/${id}`)).status, 204)
    },
  }
  return { drill, load, platformUrl }
}

function tokensPath({ workspace_id }: Credentials): string {
  return `/browser/workspaces/${workspace_id}/execution-tokens`
}

async function signIn(url: string, credentials: Credentials): Promise<PageClient> {
  const browser = new PageClient(url)
  const { owner_email, owner_password } = credentials
  await browser.get('/sign-in')
  const fields = { email: owner_email ?? '', password: owner_password ?? '' }
  const { status } = await browser.submit({ action: '/sign-in', fields })
  assert.equal(status, 200)
  return browser
}

/** A forwarding secret is tried with a valid publishable key, so that it is what is refused. */
async function areOldKeysRefused({ old, current, url }: Drill): Promise<boolean> {
  const { publishable_key } = current
  const { publishable_key: _, ...statuses } = await tryKeys(url(), { ...old, publishable_key }, 'a')
  const page = (await tryKeys(url(), old, 'b')).publishable_key
  return [...Object.values(statuses), page].every(status => status === UNAUTHENTICATED)
}
