import { findMessageProblems } from '@signalbox/graph-simulator/webhook/message-contract.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listWebhookMessages, scriptWebhookFaults } from '../../../../testing/fixtures/simulator.ts'
import {
  type SimulatedPlatform,
  testPlatform,
} from '../../../../testing/platform-http-conformance.ts'
import {
  FULL_EVENT,
  now,
  type Responses,
  startScripted,
} from '../../../../testing/simulated-platform.ts'
import { createSimulatorSecret, type WebhookTarget, webhookPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

const WEBHOOK_URL = 'https://hooks.example.com/signalbox'

/** The status of an endpoint with this outcome; null for no fault. */
const WEBHOOK_STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 410 },
  permanent: { status: 422 },
}

const WEBHOOK: SimulatedPlatform<WebhookTarget> = {
  create: (simulatorUrl, timeoutMilliseconds = 5_000) =>
    webhookPlatform({ simulatorUrl, timeoutMilliseconds, now }),
  start: startScripted(scriptWebhookFaults, WEBHOOK_STATUSES),
  config: { url: WEBHOOK_URL },
  accessToken: createSimulatorSecret(WEBHOOK_URL),
  event: sampleOutboundEvent(),
  fullEvent: FULL_EVENT,
  badEvent: { platformName: '' },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listWebhookMessages(url)).flatMap(({ data }) =>
      data.events.map(({ event_id }: SentBody) => event_id),
    ),
  acceptBody: () => JSON.stringify({ received: true }),
  errorBody: message => JSON.stringify({ message }),
  readSent: (body: SentBody) =>
    body.data.events.map((event: SentBody) => ({
      id: event.event_id,
      amount: event.value,
      currency: event.currency,
      time: Date.parse(event.event_time),
    })),
  timeUnitMilliseconds: 1,
  isSettledByStatus: true,
  findContractProblems: findMessageProblems,
  takesDigestsOf: { em: true, ph: true },
}

testPlatform('webhook', WEBHOOK)
