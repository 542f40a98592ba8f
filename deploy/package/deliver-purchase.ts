import assert from 'node:assert/strict'
import type { Credentials } from '../../service/program/provisioning/credentials-file.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'

/** Sends a purchase to a running service, and waits until the platform has accepted it. */
export async function deliverPurchase({
  base_url,
  tracker_secret,
}: Pick<Credentials, 'base_url' | 'tracker_secret'>): Promise<void> {
  const headers = { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' }
  // The programs run by the real clock, so nothing in the purchase may have a date.
  const purchase = samplePurchase({ consent: { ad_user_data: 'granted' } })
  const body = JSON.stringify(purchase)
  const answer = await fetch(`${base_url}/events`, { method: 'POST', headers, body })
  assert.equal(answer.status, 202, await answer.text())
  await waitUntil('the event is delivered', async () => {
    const read = await fetch(`${base_url}/events/${purchase.event_id}`, { headers })
    const { deliveries } = (await read.json()) as { deliveries: { status: string }[] }
    return deliveries[0]?.status === 'accepted'
  })
}
