import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createTestWorkspace, type PeopleContext } from '../../../testing/fixtures/people.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { listEntities, simulatedPlatform } from './ad-entity-store.ts'
import {
  applyExternalChange,
  type EntityLocation,
  type SimulatedFault,
  seedSimulatedAccount,
  setNextFault,
} from './simulated-account-store.ts'

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
    ...{ name: change.name, status: 'paused', daily_budget_minor: 9, version: 2 },
  }
  assert.deepEqual(outcome, { changed: expected })
  assert.deepEqual(await simulatedPlatform.readEntities(database, place.adAccountId, [place]), [
    expected,
  ])
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
    const change = { expected, desired, at }
    assert.equal(await simulatedPlatform.changeEntity(database, place.adAccountId, change), true)
    return (await read())[0]?.daily_budget_minor
  }
  const read = () => simulatedPlatform.readEntities(database, place.adAccountId, [place])
  assert.equal(await budgetAfter('ignored', 500), campaign.daily_budget_minor)
  assert.equal(await budgetAfter('altered', 500), 250)
  await setNextFault(database, place, 'ignored')
  assert.equal(await budgetAfter(null, 600), 600)
  assert.equal(await setNextFault(database, { ...place, id: '1' }, null), false)
})

async function campaignUnderTest(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const clock = new TestClock()
  const installation: PeopleContext = { url: 'http://127.0.0.1:1', database, clock }
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
