import { SNAPCHAT_CONTRACT } from '@signalbox/graph-simulator/snapchat/contract/snapchat-contract.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import {
  type SimulatedPlatform,
  testPlatform,
} from '../../../../testing/platform-http-conformance.ts'
import {
  FULL_EVENT,
  type Responses,
  startScripted,
} from '../../../../testing/simulated-platform.ts'
import { type SnapchatTarget, snapchatPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

/** The status of Snapchat's with this outcome; null for no fault. */
const STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 403 },
  permanent: { status: 400 },
}

const SNAPCHAT: SimulatedPlatform<SnapchatTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    snapchatPlatform({ baseUrl, valueType: 'number', timeoutMilliseconds }),
  start: startScripted(scriptPlatformFaults('snapchat'), STATUSES),
  config: { asset_id: '1ec32188-754e-4be2-8e55-c949a984a39f' },
  event: sampleOutboundEvent(),
  fullEvent: {
    ...FULL_EVENT,
    plain: { ...FULL_EVENT.plain, sc_click_id: 'a3f4b5c6-d7e8', sc_cookie1: 'scid-5f1c2a' },
  },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listConversions(url, 'snapchat')).map(({ event_id }) => event_id),
  acceptBody: () => JSON.stringify({ status: 'VALID', reason: 'Events have been processed.' }),
  errorBody: message =>
    JSON.stringify({
      status: 'INVALID',
      reason: message,
      event: 0,
      errors: { codes: ['E400'], error_msgs: [message] },
    }),
  readSent: (body: SentBody) =>
    body.data.map((event: SentBody) => ({
      id: event.event_id,
      amount: event.custom_data.value,
      currency: event.custom_data.currency,
      time: Number(event.event_time) * 1_000,
    })),
  timeUnitMilliseconds: 1_000,
  findContractProblems: body => SNAPCHAT_CONTRACT.findProblems('request', body),
  takesDigestsOf: { em: true, ph: true },
}

testPlatform('snapchat', SNAPCHAT)
