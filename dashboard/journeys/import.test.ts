import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { openJourneyPage } from './journey-page.ts'

const NOW = new Date()
const DAY = new Intl.DateTimeFormat('de-DE', { timeZone: 'UTC', dateStyle: 'medium' }).format(NOW)

const ROWS = [
  'id;name;total;currency;date;email;consent',
  `order-1;Purchase;1.234,50;EUR;${DAY};jane@example.com;granted`,
  `order-2;Purchase;19,95;EUR;${DAY};john@example.com;`,
  `order-3;Purchase;viel;EUR;${DAY};joe@example.com;granted`,
  ';;;;;;',
]

it('imports a file with commas and German dates: mapped, checked, sent, and listed', async test => {
  const service = await startTestService(test, { startAt: NOW.toISOString() })
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  const bodies: string[] = []
  page.on('request', request => bodies.push(request.postData() ?? ''))
  await page.goto(`${service.url}/w/${tracker.workspaceId}/import`)
  await page.getByRole('heading', { name: 'No import yet' }).waitFor()
  await assertAccessible()
  await page.locator('input[type=file]').setInputFiles({
    name: 'orders.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(ROWS.join('\r\n')),
  })
  await page.getByLabel('Member of total').waitFor()
  assert.equal(await page.getByLabel('Member of total').inputValue(), 'value_data.value')
  assert.equal(await page.getByLabel('Member of consent').inputValue(), 'consent.advertising')
  await page.getByLabel('Amounts are written').selectOption('comma')
  await page.getByLabel('Dates are written').selectOption('dmy')
  await page.getByLabel('Basis of rows without one').selectOption('consent')
  await page.getByText('"value": "1234.50"').waitFor()
  await assertAccessible()

  await page.getByRole('button', { name: 'Check without storing' }).click()
  const checked = page.getByRole('region', { name: 'Check', exact: true })
  await checked.getByText('Done: 3 rows').waitFor()
  const refused = checked.getByRole('table', { name: 'Refused rows' })
  assert.match(
    await refused.getByRole('row').nth(1).innerText(),
    /^4\s+The value_data\.value field/,
  )
  assert.equal((await service.database.pool.query('select 1 from events')).rows.length, 0)

  await page.getByRole('button', { name: 'Import', exact: true }).click()
  const imported = page.getByRole('region', { name: 'Import', exact: true })
  await imported.getByText('Done: 3 rows').waitFor()
  const history = page.getByRole('table', { name: 'Imports' })
  assert.match(await history.getByRole('row').nth(1).innerText(), /^orders\.csv\s.+\s2\s+0\s+1\s/)
  await assertAccessible()
  await service.deliver()
  const { rows } = await service.database.pool.query('select * from imports')
  assert.deepEqual([rows[0].stored, rows[0].refused, rows[0].blank], [2, 1, 1])
  const statusOf = async (id: string) =>
    (await service.request('GET', `/api/v1/events/${id}`)).body.deliveries[0].status
  assert.equal(await statusOf('order-1'), 'accepted')
  assert.equal(await statusOf('order-2'), 'skipped:consent')
  assert.doesNotMatch(bodies.join(''), /example\.com/)
})
