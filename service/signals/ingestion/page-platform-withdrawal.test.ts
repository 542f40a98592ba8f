import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  JANE,
  liftWithdrawals,
  listWithdrawals,
  purchaseOf,
  submitFromPage,
  submitPurchaseOf,
  VISITOR,
  withdrawOnPage,
} from '../../../testing/fixtures/page-withdrawals.ts'
import { connectTiny, readStatuses, startWithTwo } from '../../../testing/fixtures/two-platforms.ts'

const WITHDRAWN = 'skipped:consent withdrawn_by_page'
const QUEUED = 'queued accepted_for_delivery'

it('ends the deliveries to the platforms that a page names, and is lifted for each', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  const user_data = { em: JANE.em }
  await submitPurchaseOf(service, 'waiting', { visitor_id: VISITOR, user_data })
  service.clock.advance(1)
  const named = { visitor_id: VISITOR, withdrawn_platforms: ['tiny'], event_id: 'no-tiny' }
  const reply = await withdrawOnPage(service, named)
  assert.equal(reply.status, 202, reply.text)
  assert.deepEqual(reply.body.notices, [])
  await submitPurchaseOf(service, 'later', { visitor_id: VISITOR, user_data: { ph: JANE.ph } })
  await submitPurchaseOf(service, 'by-mail', { user_data })
  const stopped = [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`]
  for (const id of ['waiting', 'later', 'by-mail']) {
    assert.deepEqual(await readStatuses(service, id), stopped, id)
  }
  const [withdrawal] = await listWithdrawals(service)
  assert.partialDeepStrictEqual(withdrawal, { visitor_id: VISITOR, platform: 'tiny' })
  const { body } = await service.request('GET', '/api/v1/events/no-tiny?space=publishable')
  assert.partialDeepStrictEqual(body.event.consent.decision.withdrawal, {
    reaches: 'all_events',
    platforms: ['tiny'],
    withdrawal_ids: [withdrawal.id],
  })
  const { body: read } = await service.read('later')
  const texts = read.deliveries.map((one: { explanation: string }) => one.explanation)
  assert.match(texts.join('\n'), new RegExp(`page withdrawal ${withdrawal.id} .*, for tiny only`))

  await withdrawOnPage(service, { visitor_id: VISITOR, withdrawn_platforms: ['meta'] })
  for (const id of ['waiting', 'later', 'by-mail']) {
    assert.deepEqual(await readStatuses(service, id), [`meta ${WITHDRAWN}`, `tiny ${WITHDRAWN}`])
  }
  const lifted = await liftWithdrawals(service, [withdrawal.id])
  assert.partialDeepStrictEqual(lifted.body, { lifted: 1, queued: 3, still_withheld: 0 })
  for (const id of ['waiting', 'later', 'by-mail']) {
    assert.deepEqual(await readStatuses(service, id), [
      `meta ${WITHDRAWN}`,
      'tiny queued withdrawal_lifted',
    ])
  }
  const inForce = await listWithdrawals(service, `?state=in_force&visitor_id=${VISITOR}`)
  assert.deepEqual(
    inForce.map(({ platform }: { platform: string }) => platform),
    ['meta'],
  )
})

it('reaches events of pages only for each platform, under an ID that others may guess', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  const visitor_id = 'customer-9'
  await withdrawOnPage(service, { visitor_id, withdrawn_platforms: ['tiny'] })
  await submitPurchaseOf(service, 'of-secret', { visitor_id })
  const user_data = { em: JANE.em }
  const reply = await submitFromPage(service, purchaseOf('of-page', { visitor_id, user_data }))
  assert.equal(reply.status, 202, reply.text)
  assert.deepEqual(await readStatuses(service, 'of-secret'), [`meta ${QUEUED}`, `tiny ${QUEUED}`])
  assert.deepEqual(await readStatuses(service, 'of-page'), [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`])
})

it('is not lifted for a platform for which the tracker secret withdrew', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submitPurchaseOf(service, 'order', { visitor_id: VISITOR })
  assert.deepEqual(await readStatuses(service, 'order'), [`meta ${WITHDRAWN}`, `tiny ${WITHDRAWN}`])
  const { status } = await service.submit({
    event_id: 'bye',
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: VISITOR,
    withdrawn_platforms: ['tiny'],
  })
  assert.equal(status, 202)
  const [{ id }] = await listWithdrawals(service)
  const { body } = await liftWithdrawals(service, [id])
  assert.partialDeepStrictEqual(body, { lifted: 1, queued: 1, still_withheld: 1 })
})

it('refuses a platform of a page that is not known, and completes a repeated event', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  const refused = await withdrawOnPage(service, {
    visitor_id: VISITOR,
    withdrawn_platforms: ['myspace'],
  })
  assert.deepEqual(Object.keys(refused.body.errors), ['withdrawn_platforms.0'])
  const event = { visitor_id: VISITOR, withdrawn_platforms: ['tiny'], event_id: 'once' }
  await withdrawOnPage(service, event)
  await service.database.pool.query(`delete from page_withdrawal_keys where key like ' on:%'`)
  await submitPurchaseOf(service, 'order', { visitor_id: VISITOR })
  assert.deepEqual(await readStatuses(service, 'order'), [`meta ${QUEUED}`, `tiny ${QUEUED}`])
  assert.equal((await withdrawOnPage(service, event)).status, 200)
  assert.deepEqual(await readStatuses(service, 'order'), [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`])
})
