import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { CONSENT_FORMS } from '../service/signals/consent/consent-forms.ts'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import { type Reply, startTestService, type TestService } from '../testing/fixtures/service.ts'
import {
  CONSENT_PAGE_PATH,
  describeDecision,
  renderConsentPage,
} from './site/print-consent-forms.ts'

it('the page has the table of forms that the program reads', () => {
  const page = readFileSync(CONSENT_PAGE_PATH, 'utf8')
  assert.equal(page, renderConsentPage(page), 'run `npm run docs:print`')
})

it('a service decides on every row as the page says', async test => {
  const plain = await startTestService(test)
  const withProvider = await startTestService(test, { additionalConsentProvider: 89 })
  for (const { platform, rows } of CONSENT_FORMS) {
    for (const [index, { says, members, decision }] of rows.entries()) {
      const service = says.endsWith('ID 89') ? withProvider : plain
      const decided = await findDecision(service, members, `${platform}-${index}`)
      assert.equal(decided, describeDecision(decision), `${platform}: ${says}`)
    }
  }
})

async function findDecision(service: TestService, members: object, event_id: string) {
  const { consent, ...event } = samplePurchase({ event_id })
  const reply = await service.submit({ ...event, ...members })
  if (reply.status === 422) return `422 on ${Object.keys(reply.body.errors).map(inBackticks)}`
  assert.equal(reply.status, 202)
  return describeDelivery(await service.read(event_id), reply)
}

function describeDelivery({ body }: Reply, reply: Reply): string {
  const { decision } = body.event.consent
  const [delivery] = body.deliveries
  if (delivery.status === 'queued') return `delivered, ${inBackticks(decision.reason)}`
  assert.equal(delivery.status, 'skipped:consent')
  const codes = reply.body.notices.map(({ code }: { code: string }) => code)
  assert.ok(codes.includes('consent_unreadable'))
  const [signal] = Object.values(decision.inputs) as { why: string }[]
  const isPossible = decision.reason === 'possible_refusal'
  return `stored, not delivered, ${inBackticks(isPossible ? decision.reason : (signal?.why ?? ''))}`
}

function inBackticks(text: string): string {
  return `\`${text}\``
}
