import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import { type Reply, startTestService, type TestService } from '../testing/fixtures/service.ts'

const PAGE = join(import.meta.dirname, 'guides/consent.md')
const PLATFORMS = [
  ...['Your own banner', 'OneTrust', 'Cookiebot', 'Usercentrics', 'Didomi', 'Google Consent Mode'],
  ...['IAB TCF 2.2 and 2.3', 'Google Additional Consent', 'IAB GPP and US Privacy', 'Shopify'],
  'Global Privacy Control',
]

interface Row {
  platform: string
  says: string
  /** Members of the event as JSON. */
  members: string
  decision: string
}

/** The rows whose second cell is JSON in backticks, with the heading above them. */
function readRows(): Row[] {
  let platform = ''
  return readFileSync(PAGE, 'utf8')
    .split('\n')
    .flatMap(line => {
      platform = /^## (.+)$/.exec(line)?.[1] ?? platform
      const [, says, members, decision] = /^\| (.+?) *\| `(\{.+\})` *\| (.+?) *\|$/.exec(line) ?? []
      return says && members && decision ? [{ platform, says, members, decision }] : []
    })
}

const rows = readRows()

it('the page has rows for every platform', () => {
  assert.deepEqual([...new Set(rows.map(({ platform }) => platform))], PLATFORMS)
  assert.ok(rows.length > 50)
})

it('a service decides on every row as the page says', async test => {
  const plain = await startTestService(test)
  const withProvider = await startTestService(test, { additionalConsentProvider: 89 })
  for (const [index, row] of rows.entries()) {
    const service = row.says.endsWith('ID 89') ? withProvider : plain
    const decision = await findDecision(service, row, `row-${index}`)
    assert.equal(row.decision, decision, `${row.platform}: ${row.says}`)
  }
})

async function findDecision(service: TestService, { members }: Row, event_id: string) {
  const { consent, ...event } = samplePurchase({ event_id })
  const reply = await service.submit({ ...event, ...JSON.parse(members) })
  if (reply.status === 422) return `422 on ${Object.keys(reply.body.errors).map(inBackticks)}`
  assert.equal(reply.status, 202)
  return describeDelivery(await service.read(event_id), reply)
}

function describeDelivery({ body }: Reply, reply: Reply): string {
  const { decision } = body.event.consent
  const [delivery] = body.deliveries
  if (delivery.status === 'queued') return `delivered, ${inBackticks(decision.reason)}`
  assert.equal(delivery.status, 'skipped:consent')
  assert.equal(decision.reason, 'no_signal')
  const codes = reply.body.notices.map(({ code }: { code: string }) => code)
  assert.ok(codes.includes('consent_unreadable'))
  const [signal] = Object.values(decision.inputs) as { why: string }[]
  return `stored, not delivered, ${inBackticks(signal?.why ?? '')}`
}

function inBackticks(text: string): string {
  return `\`${text}\``
}
