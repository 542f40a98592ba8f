import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleCommerce } from './fixtures/sample-events.ts'
import type { AnswerOutcome } from './platform-conformance.ts'
import type { SimulatedPlatform } from './platform-http-conformance.ts'

/** The clock of the simulator in the conformance tests, and of platforms that need one. */
export const now = () => new Date('2026-11-21T12:00:00.000Z')

/** What a fault rule answers for each outcome; null for no fault. */
export type Responses = Record<AnswerOutcome, object | null>

/** Starts the simulator, whose next answer has an outcome; `responses` are those of fault rules. */
export function startScripted(
  script: (simulatorUrl: string, rules: readonly unknown[]) => Promise<void>,
  responses: Responses,
): SimulatedPlatform<unknown>['start'] {
  return async test => {
    const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now })
    test.after(close)
    const answerWith = async (outcome: AnswerOutcome) => {
      const respond = responses[outcome]
      await script(url, respond ? [{ times: 1, respond }] : [])
    }
    return { baseUrl: url, answerWith }
  }
}

/** An event with what a caller may name of an order and a person, in the words of the core. */
export const FULL_EVENT = {
  digests: {
    ...Object.fromEntries(
      ['em', 'ph', 'fn', 'ln', 'ge', 'db', 'ct', 'st', 'zp', 'country', 'external_id'].map(
        (key, index) => [key, [index.toString(16).repeat(64)]],
      ),
    ),
  },
  plain: { client_user_agent: 'Mozilla/5.0 (test)', client_ip_address: '198.51.100.7' },
  orderId: 'order-77',
  numItems: 3,
  contents: [{ id: 'sku-1', quantity: 2, item_price: '9.95', title: 'Lamp', brand: 'Lux' }],
  commerce: sampleCommerce({
    contentIds: ['sku-1'],
    contentTypes: ['product'],
    contentName: 'Lamps',
    contentCategory: 'Home',
    searchString: 'lamp',
    predictedLifetimeValue: '250.50',
    netRevenue: '12.34',
    customProperties: { color: 'red' },
  }),
  customerSegment: 'new_customer_to_business',
  dataProcessing: { options: ['LDU'], country: 1, state: 1_000 },
  referrer: 'https://search.example/',
}
