import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import {
  addAdAccount,
  createTestWorkspace,
  type UsersContext,
} from '../../../testing/fixtures/users.ts'
import type { Database } from '../../runtime/db/database.ts'
import { seedSimulatedAccount } from './simulated-account-store.ts'
import { listEntities } from './simulated-campaign-store.ts'

it('creates the ad account, 3 campaigns, 5 ad sets and 8 ads, parents first', async test => {
  const { database, adAccountId, seed } = await account(test)
  assert.equal(await seed(), true)
  const { entities, omitted } = await listEntities(database, adAccountId)
  assert.equal(omitted, 0)
  const types = entities.map(({ type }) => type)
  const expected = [
    'ad_account',
    ...Array(3).fill('campaign'),
    ...Array(5).fill('ad_set'),
    ...Array(8).fill('ad'),
  ]
  assert.deepEqual(types, expected)
  assert.deepEqual(entities[0], {
    type: 'ad_account',
    id: '42',
    name: 'Shop',
    parent_id: null,
    status: 'active',
    daily_budget_minor: null,
    version: 1,
  })
  const seen = new Set<string | null>([null])
  for (const { id, parent_id } of entities) {
    assert.ok(seen.has(parent_id), `${id} stands before its parent`)
    seen.add(id)
  }
})

it('gives a budget to a campaign or to its ad sets, never to both', async test => {
  const { database, adAccountId, seed } = await account(test)
  await seed()
  const { entities } = await listEntities(database, adAccountId)
  for (const { type, id, daily_budget_minor: budget } of entities) {
    if (type === 'ad' || type === 'ad_account') assert.equal(budget, null)
    if (type !== 'campaign') continue
    const adSets = entities.filter(({ parent_id }) => parent_id === id)
    for (const adSet of adSets) {
      assert.notEqual(budget === null, adSet.daily_budget_minor === null, adSet.name)
    }
  }
  const paused = entities.filter(({ status }) => status === 'paused')
  assert.deepEqual(
    paused.map(({ type }) => type),
    ['campaign'],
  )
})

it('changes nothing when called again, also concurrently', async test => {
  const { database, adAccountId, seed } = await account(test)
  const made = await Promise.all([seed(), seed(), seed(), seed()])
  assert.deepEqual(made.toSorted(), [false, false, false, true])
  const [campaign] = (await listEntities(database, adAccountId)).entities.slice(1)
  await database.query
    .updateTable('ad_entities')
    .set({ name: 'Mine', version: 7 })
    .where('id', '=', campaign?.id ?? '')
    .execute()
  assert.equal(await seed(), false)
  const { entities } = await listEntities(database, adAccountId)
  assert.equal(entities.length, 17)
  assert.deepEqual([entities[1]?.name, entities[1]?.version], ['Mine', 7])
})

it('uses different campaign IDs for each account', async test => {
  const { database, adAccountId, installation, workspaceId, seed } = await account(test)
  const otherId = await addAdAccount(installation, workspaceId, 'Other')
  await seed()
  await seed({ adAccountId: otherId, platformAccountId: '43' })
  const [ours, theirs] = [
    await listEntities(database, adAccountId),
    await listEntities(database, otherId),
  ]
  const ids = new Set(ours.entities.map(({ id }) => id))
  assert.equal(theirs.entities.length, 17)
  assert.ok(theirs.entities.every(({ id }) => !ids.has(id)))
})

it('truncates a long list and returns the number of omitted entities', async test => {
  const { database, adAccountId, seed } = await account(test)
  await seed()
  const { entities, omitted } = await listEntities(database, adAccountId, { perPage: 4 })
  assert.deepEqual([entities.length, omitted], [4, 13])
  assert.deepEqual(await listEntities(database, adAccountId + 1_000), { entities: [], omitted: 0 })
})

async function account(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const clock = new TestClock()
  const installation: UsersContext = { url: 'http://127.0.0.1:1', database, clock }
  const { workspaceId, adAccountId } = await createTestWorkspace(installation)
  const entry = { adAccountId, platformAccountId: '42', name: 'Shop', at: clock.now() }
  const seed = (changes: Partial<typeof entry> = {}) => seeded(database, { ...entry, ...changes })
  return { database, installation, workspaceId, adAccountId, seed }
}

function seeded(database: Database, entry: Parameters<typeof seedSimulatedAccount>[1]) {
  return database.query.transaction().execute(query => seedSimulatedAccount({ query }, entry))
}
