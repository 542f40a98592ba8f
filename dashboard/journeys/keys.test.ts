import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePageView, samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { openJourneyPage } from './journey-page.ts'

const EVERY_MILLISECONDS = 20
const CONFIRM_AGAIN_SECONDS = 16 * 60

async function openKeys(test: TestContext, expectedStatuses: readonly number[] = []) {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const journey = await openJourneyPage(test, { service, person: owner, expectedStatuses })
  await journey.page.goto(`${service.url}/w/${tracker.workspaceId}/keys`)
  await journey.page.getByRole('heading', { name: 'Tracker secrets' }).waitFor()
  return { service, tracker, ...journey }
}

interface SendingShop {
  service: TestService
  secret: string
  /** Ends with the test: a service that still gets requests never closes. */
  signal: AbortSignal
}

/** A shop's server that sends one event after the other until it is stopped. */
function startSending({ service, secret, signal }: SendingShop) {
  const shop = { secret, isStopped: false, accepted: [] as string[], refused: 0 }
  const sending = (async () => {
    while (!shop.isStopped && !signal.aborted) {
      const event_id = randomUUID()
      const body = samplePurchase({ event_id })
      const used = shop.secret
      const { status } = await service.request('POST', '/api/v1/events', { secret: used, body })
      if (status === 202) shop.accepted.push(event_id)
      else shop.refused += 1
      await setTimeout(EVERY_MILLISECONDS)
    }
  })()
  const stop = async () => {
    shop.isStopped = true
    await sending
  }
  return { shop, stop }
}

it('rotates a tracker secret while events flow, and loses none', async test => {
  const { service, tracker, page, assertAccessible } = await openKeys(test)
  const { trackerSecret: secret } = tracker
  const { shop, stop } = startSending({ service, secret, signal: test.signal })
  try {
    await rotateWhileSending(page, { shop, secret })
  } finally {
    await stop()
  }
  assert.equal(shop.refused, 0)
  const read = (key: string) => service.request('GET', '/api/v1/dashboard/events', { secret: key })
  assert.equal((await read(shop.secret)).body.events.total, shop.accepted.length)
  assert.equal((await read(secret)).status, 401)
  assert.ok(!(await page.content()).includes(shop.secret), 'the key is not shown again')
  await assertAccessible()
})

interface Rotation {
  shop: ReturnType<typeof startSending>['shop']
  /** The key that is rotated. */
  secret: string
}

async function rotateWhileSending(page: Page, { shop, secret }: Rotation): Promise<void> {
  const sendMore = async () => {
    const before = shop.accepted.length
    await waitUntil('more events are accepted', async () => shop.accepted.length > before + 5)
  }
  await sendMore()
  const secrets = page.getByRole('region', { name: 'Tracker secrets' })
  await secrets.getByRole('button', { name: /^Rotate/ }).click()
  await page.getByRole('button', { name: 'Issue the second key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Your new tracker secret' })
  await dialog.getByText('it is shown only once').waitFor()
  const token = await dialog.locator('pre').innerText()
  assert.match(token, /^sbx_sk_[0-9a-f]{72}$/)
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await secrets.getByText('Two keys are valid').waitFor()
  await sendMore()
  shop.secret = token
  await sendMore()
  const old = `Revoke the key that ends in ${secret.slice(-4)}`
  await secrets.getByRole('button', { name: old }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click()
  await secrets.getByText('Two keys are valid').waitFor({ state: 'detached' })
  await sendMore()
}

it('issues a publishable key for an origin, and says which origin is invalid', async test => {
  const { service, page, assertAccessible } = await openKeys(test, [422])
  await page.getByRole('button', { name: 'Issue with other origins' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Origins of your pages').fill('shop.example')
  await dialog.getByRole('button', { name: 'Issue the key' }).click()
  await dialog.getByText('must be what browsers send').waitFor()
  await dialog.getByLabel('Origins of your pages').fill('https://new-shop.example')
  await dialog.getByRole('button', { name: 'Issue the key' }).click()
  const token = await dialog.locator('pre').innerText()
  await assertAccessible()
  const options = { headers: { origin: 'https://new-shop.example' }, body: samplePageView() }
  const reply = await service.request('POST', '/api/v1/events', { secret: token, ...options })
  assert.equal(reply.status, 202)
})

it('asks for the identity of the person before it issues a key', async test => {
  const { service, page } = await openKeys(test, [403])
  service.clock.advance(CONFIRM_AGAIN_SECONDS)
  const secrets = page.getByRole('region', { name: 'Forwarding secrets' })
  await secrets.getByRole('button', { name: /^Rotate/ }).click()
  await page.getByRole('button', { name: 'Issue the second key' }).click()
  const link = page.getByRole('link', { name: 'Confirm your identity' })
  assert.match((await link.getAttribute('href')) ?? '', /^\/account\/confirm\?return_to=%2Fw%2F/)
})
