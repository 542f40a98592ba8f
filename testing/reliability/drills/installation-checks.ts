import assert from 'node:assert/strict'
import type { Credentials } from '../../../service/program/provisioning/credentials-file.ts'
import { runCommand } from '../../fixtures/command-line.ts'
import {
  samplePageView,
  samplePurchase,
  signForwardedRequest,
} from '../../fixtures/sample-events.ts'

/** The keys of one tracker and the execution token of its workspace. */
export type DrillKeys = Pick<
  Credentials,
  'tracker_secret' | 'publishable_key' | 'forwarding_secret' | 'execution_token' | 'workspace_id'
>

/** A page that the publishable key of the demo works on. */
const ORIGIN = 'http://127.0.0.1:8000'

/**
 * Uses every key once: the tracker secret, the publishable key with a signature of the forwarding
 * secret, and the execution token. `name` must be new for the tracker.
 */
export async function assertKeysWork(
  serviceUrl: string,
  keys: DrillKeys,
  name: string,
): Promise<void> {
  assert.deepEqual(await tryKeys(serviceUrl, keys, name), {
    tracker_secret: 202,
    publishable_key: 202,
    forwarding_secret: 202,
    execution_token: 200,
  })
}

/** The status of a request with each key. */
export async function tryKeys(serviceUrl: string, keys: DrillKeys, name: string) {
  const events = `${serviceUrl}/api/v1/events`
  const post = async (key: string, text: string, headers: Record<string, string> = {}) => {
    const response = await fetch(events, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: text,
    })
    return response.status
  }
  const granted = { consent: { ad_user_data: 'granted' } }
  const purchase = samplePurchase({ event_id: `${name}-secret`, ...granted })
  const view = (suffix: string) =>
    JSON.stringify(
      samplePageView({
        event_id: `${name}-${suffix}`,
        event_source: `${ORIGIN}/`,
        user_data: { em: 'ada@shop.example' },
        ...granted,
      }),
    )
  const signed = signForwardedRequest({
    secret: keys.forwarding_secret,
    body: view('forwarded'),
    at: new Date(),
    clientIp: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
  })
  const policy = `${serviceUrl}/api/v1/agent/workspaces/${keys.workspace_id}/actions/policy`
  const agent = await fetch(policy, {
    headers: { authorization: `Bearer ${keys.execution_token}` },
  })
  return {
    tracker_secret: await post(keys.tracker_secret, JSON.stringify(purchase)),
    publishable_key: await post(keys.publishable_key, view('page'), { origin: ORIGIN }),
    forwarding_secret: await post(keys.publishable_key, view('forwarded'), signed),
    execution_token: agent.status,
  }
}

/** Every audit log is intact, and the current key decrypts every platform token. */
export async function assertSecretsWhole(environment: Record<string, string>): Promise<void> {
  const audit = await runCommand(['audit', 'verify'], { environment })
  assert.equal(audit.code, 0, `${audit.stdout}${audit.stderr}`)
  assert.match(audit.stdout, /^Workspace \d+: intact\. /m)
  const credentials = await runCommand(['credential', 'list'], { environment })
  assert.equal(credentials.code, 0, credentials.stderr)
  const table = `${credentials.stdout}${credentials.stderr}`
  assert.match(table, /\bcurrent\b/)
  assert.doesNotMatch(table, /\b(previous|none)\b/)
}
