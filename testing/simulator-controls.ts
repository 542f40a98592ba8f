import { findDestination } from '../service/delivery/destination-store.ts'
import { openCredential } from '../service/delivery/sealed-credential.ts'
import type { MetaTarget } from '../service/platforms/meta/target.ts'
import type { Credentials } from '../service/platforms/platform.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

/** What the simulator counted since it was emptied (graph-simulator/README.md). */
export interface SimulatorSummary {
  requests: number
  refused_requests: number
  receipts: number
  unique_events: number
  deduplicated: number
  test_receipts: number
  value_by_currency: Record<string, string>
}

/** Replaces the simulator's fault rules; an empty list makes it work again. */
export async function scriptFaults(simulatorUrl: string, rules: readonly unknown[]): Promise<void> {
  await control(simulatorUrl, 'faults', { method: 'POST', body: JSON.stringify({ rules }) })
}

/** From now on the platform answers this token with code 190, subcode 467. */
export async function revokeToken(simulatorUrl: string, token: string): Promise<void> {
  const body = JSON.stringify({ revoked: [token] })
  await control(simulatorUrl, 'tokens', { method: 'POST', body })
}

export async function restoreTokens(simulatorUrl: string): Promise<void> {
  await control(simulatorUrl, 'tokens', { method: 'DELETE' })
}

export async function simulatorSummary(
  simulatorUrl: string,
  dataset?: string,
): Promise<SimulatorSummary> {
  const query = dataset === undefined ? '' : `?dataset=${dataset}`
  const response = await control(simulatorUrl, `summary${query}`, { method: 'GET' })
  return (await response.json()) as SimulatorSummary
}

/** Which dataset a request is for. */
export function datasetOf({ target }: Credentials<unknown>): string {
  return (target as MetaTarget).datasetId
}

/** Where a tracker's destination sends, and with which token. */
export async function platformTargetOf(
  { database, delivery }: ServiceUnderTest,
  { trackerId, destinationId }: { trackerId: string; destinationId: string },
): Promise<{ datasetId: string; accessToken: string }> {
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw new Error('the tracker has no such destination')
  const { config, sealedCredential } = destination
  const opened = openCredential(delivery.credentialKeys, destinationId, sealedCredential)
  if (!opened) throw new Error('the credential cannot be opened')
  return { datasetId: String(config.dataset_id), accessToken: opened.credential }
}

async function control(simulatorUrl: string, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`${simulatorUrl}/_simulator/${path}`, init)
  if (response.ok) return response
  throw new Error(`the simulator answered ${response.status}: ${await response.text()}`)
}
