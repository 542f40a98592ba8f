import type { TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { type Reply, simulatorUnderTest } from '../simulator-under-test.ts'

/** A digest of no one. */
export const SAMPLE_DIGEST = 'ab'.repeat(32)

export const SAMPLE_DESTINATION = {
  reference: '456',
  operatingAccount: { accountType: 'GOOGLE_ADS', accountId: '1234567890' },
  productDestinationId: '456',
}

/** An event that the API takes. */
export function sampleGoogleEvent(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    destinationReferences: ['456'],
    transactionId: 'order-1',
    eventTimestamp: new Date(SAMPLE_NOW.getTime() - 60_000).toISOString(),
    eventSource: 'WEB',
    conversionValue: 19.9,
    currency: 'USD',
    userData: { userIdentifiers: [{ emailAddress: SAMPLE_DIGEST }] },
    ...members,
  }
}

export function sampleIngest(...events: Record<string, unknown>[]): Record<string, unknown> {
  return { destinations: [SAMPLE_DESTINATION], events, encoding: 'HEX' }
}

/** The simulator's addresses of Google, on a clock that only the test advances. */
export async function googleUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const headers = { authorization: 'Bearer token-a', 'content-type': 'application/json' }
  const ingest = (body: unknown, added: Record<string, string> = {}): Promise<Reply> =>
    simulator.send(body, { path: '/v1/events:ingest', headers: { ...headers, ...added } })
  return {
    ...simulator,
    ingest,
    google: (method: string, path: string, body?: unknown) =>
      simulator.control(method, `google/${path}`, body),
    readStatus: (requestId: string) =>
      simulator.send(undefined, {
        path: `/v1/requestStatus:retrieve?requestId=${requestId}`,
        method: 'GET',
        headers,
      }),
    requestToken: (form: Record<string, string>) =>
      simulator.send(new URLSearchParams(form).toString(), {
        path: '/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
  }
}
