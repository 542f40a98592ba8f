import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { createTestWorkspace, type PeopleContext } from '../../testing/fixtures/people.ts'
import { createInstallation } from '../../testing/fixtures/program.ts'
import { TestClock } from '../../testing/fixtures/test-clock.ts'
import { seedSimulatedAccount } from '../agents/executor/simulated-account-store.ts'

it('lists the simulated campaigns, changes one, and spoils its next change', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const clock = new TestClock()
  const people: PeopleContext = { url: 'http://127.0.0.1:1', database, clock }
  const { adAccountId } = await createTestWorkspace(people)
  const entry = { adAccountId, platformAccountId: '42', name: 'Shop', at: clock.now() }
  await database.query.transaction().execute(query => seedSimulatedAccount({ query }, entry))
  const place = createInstallation(test)
  const run = async (task: string, ...list: string[]) => {
    const options = [task, '--account', String(adAccountId), ...list]
    const environment = { DATABASE_URL: connectionString }
    const program = place.start({ role: 'campaigns', arguments: options, environment })
    const { code } = await program.exited
    return { code, printed: program.stdout(), said: program.stderr() }
  }

  const { printed } = await run('list')
  assert.equal(printed.split('\n').length, 18)
  assert.match(printed, /^ad_account:42 +active +- {2}v1 {4}Shop\n/)
  const [, id = ''] = /^campaign:(\d+) +active +12000 /m.exec(printed) ?? []
  const entity = ['--entity', `campaign:${id}`]

  const name = 'Sale\u001b[2J\nnow'
  const change = ['--status', 'paused', '--budget', '900', '--name', name]
  const changed = await run('set', ...entity, ...change)
  assert.match(changed.printed, /^campaign:\d+ +paused +900 {2}v2 {4}Sale \[2J now\n$/)
  const stored = await find()
  assert.deepEqual([stored?.name, stored?.version], [name, 2])

  const spoiled = await run('fault', ...entity, '--next', 'ignored')
  assert.equal(spoiled.said, `The next change of the campaign ${id} goes wrong: ignored.\n`)
  assert.equal((await find())?.next_fault, 'ignored')

  const unknown = await run('set', '--entity', 'ad:1', '--status', 'paused')
  assert.deepEqual(
    [unknown.code, unknown.said],
    [1, `The ad account ${adAccountId} here has no ad 1.\n`],
  )
  const budgetless = await run('set', '--entity', 'ad_account:42', '--budget', '1')
  assert.deepEqual(
    [budgetless.code, budgetless.said],
    [1, 'The ad account 42 has no budget of its own: change that of another.\n'],
  )

  function find() {
    const found = database.query.selectFrom('ad_entities').selectAll().where('id', '=', id)
    return found.executeTakeFirst()
  }
})
