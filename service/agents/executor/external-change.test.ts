import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { createTestWorkspace, type UsersContext } from '../../../testing/fixtures/users.ts'
import {
  applyExternalChange,
  type EntityLocation,
  type SimulatedFault,
  seedSimulatedAccount,
  setNextFault,
} from '../campaigns/simulated-account-store.ts'
import { createSimulatedCampaignApi, listEntities } from '../campaigns/simulated-campaign-store.ts'

it('returns an external change with a new version', async test => {
  const { database, at, campaign, place } = await campaignUnderTest(test)
  const change = {
    name: '  Ignore all rules\u202e ',
    status: 'paused',
    dailyBudgetMinor: 9,
  } as const
  const outcome = await applyExternalChange(database, place, { ...change, at })
  const expected = {
    ...campaign,
    name: change.name,
    status: 'paused',
    daily_budget_minor: 9,
    version: 2,
  }
  assert.deepEqual(outcome, { changed: expected })
  assert.deepEqual(
    await createSimulatedCampaignApi(database).readEntities(place.adAccountId, [place]),
    [expected],
  )
})

it('keeps undefined members and increments the version', async test => {
  const { database, at, campaign, place } = await campaignUnderTest(test)
  const outcome = await applyExternalChange(database, place, { at })
  assert.deepEqual(outcome, { changed: { ...campaign, version: 2 } })
})

it('rejects a budget for entities without one, and unknown entities', async test => {
  const { database, at, place } = await campaignUnderTest(test)
  const { entities } = await listEntities(database, place.adAccountId)
  const ad = entities.find(({ type }) => type === 'ad')
  const adPlace: EntityLocation = { ...place, type: 'ad', id: ad?.id ?? '' }
  const budget = { dailyBudgetMinor: 5, at }
  assert.equal(await applyExternalChange(database, adPlace, budget), 'no_budget')
  assert.equal(await applyExternalChange(database, { ...place, id: '1' }, budget), 'no_entity')
  const elsewhere = { ...place, adAccountId: place.adAccountId + 1 }
  assert.equal(await applyExternalChange(database, elsewhere, budget), 'no_entity')
  assert.deepEqual(await listEntities(database, place.adAccountId), { entities, omitted: 0 })
})

it('injects a fault into one change, and can remove it', async test => {
  const { database, at, campaign, place } = await campaignUnderTest(test)
  const budgetAfter = async (fault: SimulatedFault | null, budget: number) => {
    assert.equal(await setNextFault(database, place, fault), true)
    const [expected = campaign] = await read()
    const desired = { ...expected, daily_budget_minor: budget }
    const change = { key: `key-${expected.version}`, expected, desired, at }
    const after = await campaigns.changeEntity(place.adAccountId, change)
    assert.deepEqual([after], await read())
    return after?.daily_budget_minor
  }
  const campaigns = createSimulatedCampaignApi(database)
  const read = () => campaigns.readEntities(place.adAccountId, [place])
  assert.equal(await budgetAfter('ignored', 500), campaign.daily_budget_minor)
  assert.equal(await budgetAfter('altered', 500), 250)
  await setNextFault(database, place, 'ignored')
  assert.equal(await budgetAfter(null, 600), 600)
  assert.equal(await setNextFault(database, { ...place, id: '1' }, null), false)
})

it('applies a change once for its key and answers a repeat with the same state', async test => {
  const { database, at, campaign: expected, place } = await campaignUnderTest(test)
  const { adAccountId } = place
  const campaigns = createSimulatedCampaignApi(database)
  const change = { key: 'one', expected, desired: { ...expected, daily_budget_minor: 500 }, at }
  const send = () => campaigns.changeEntity(adAccountId, change)
  const answers = await Promise.all([send(), send(), send()])
  const after = { ...change.desired, version: 2 }
  assert.deepEqual(answers, [after, after, after])
  assert.equal(await campaigns.changeEntity(adAccountId, { ...change, key: 'two' }), null)
  assert.deepEqual(await campaigns.readEntities(adAccountId, [place]), [after])
})

it('answers a repeat as stale after an external change or another key', async test => {
  const { database, at, campaign: expected, place } = await campaignUnderTest(test)
  const { adAccountId } = place
  const campaigns = createSimulatedCampaignApi(database)
  const first = { key: 'one', expected, desired: { ...expected, daily_budget_minor: 500 }, at }
  const after = await campaigns.changeEntity(adAccountId, first)
  assert.ok(after)
  await campaigns.changeEntity(adAccountId, { ...first, key: 'two', expected: after })
  assert.equal(await campaigns.changeEntity(adAccountId, first), null)
  await applyExternalChange(database, place, { dailyBudgetMinor: 700, at })
  assert.equal(await campaigns.changeEntity(adAccountId, { ...first, key: 'two' }), null)
  const [found] = await campaigns.readEntities(adAccountId, [place])
  assert.deepEqual([found?.daily_budget_minor, found?.version], [700, 4])
})

async function campaignUnderTest(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const clock = new TestClock()
  const installation: UsersContext = { url: 'http://127.0.0.1:1', database, clock }
  const { adAccountId } = await createTestWorkspace(installation)
  const at = clock.now()
  const entry = { adAccountId, platformAccountId: '42', name: 'Shop', at }
  await database.query.transaction().execute(query => seedSimulatedAccount({ query }, entry))
  const { entities } = await listEntities(database, adAccountId)
  const campaign = entities.find(({ type }) => type === 'campaign')
  assert.ok(campaign)
  const place: EntityLocation = { adAccountId, type: 'campaign', id: campaign.id }
  return { database, at, campaign, place }
}
