import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { createTestWorkspace, type UsersContext } from '../../../testing/fixtures/users.ts'
import { seedSimulatedAccount } from '../../agents/campaigns/simulated-account-store.ts'

it('lists the simulated campaigns, changes one, and makes its next change fail', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const clock = new TestClock()
  const people: UsersContext = { url: 'http://127.0.0.1:1', database, clock }
  const { adAccountId } = await createTestWorkspace(people)
  const entry = { adAccountId, platformAccountId: '42', name: 'Shop', at: clock.now() }
  await database.query.transaction().execute(query => seedSimulatedAccount({ query }, entry))
  const environment = { DATABASE_URL: connectionString }
  const run = (task: string, ...options: string[]) =>
    runCommand(['campaigns', task, '--account', String(adAccountId), ...options], { environment })

  const { stdout: listed } = await run('list')
  assert.equal(listed.split('\n').length, 19)
  assert.match(listed, /^ENTITY +STATUS +BUDGET {2}VERSION {2}NAME\n/)
  assert.match(listed, /^ad_account:42 +active +- {2}v1 +Shop$/m)
  const [, id = ''] = /^campaign:(\d+) +active +12000 /m.exec(listed) ?? []
  const entity = ['--entity', `campaign:${id}`]

  const name = 'Sale\u001b[2J\nnow'
  const change = ['--status', 'paused', '--budget', '900', '--name', name]
  const changed = await run('set', ...entity, ...change)
  assert.match(changed.stdout, /^campaign:\d+ +paused +900 {2}v2 +Sale \[2J now$/m)
  const stored = await find()
  assert.deepEqual([stored?.name, stored?.version], [name, 2])

  const failing = await run('fault', ...entity, '--next', 'ignored')
  assert.equal(failing.stderr, `The next change of the campaign ${id} fails: ignored.\n`)
  assert.equal((await find())?.next_fault, 'ignored')

  const unknown = await run('set', '--entity', 'ad:1', '--status', 'paused')
  assert.deepEqual(
    [unknown.code, unknown.stderr],
    [1, `The ad account ${adAccountId} here has no ad 1.\n`],
  )
  const budgetless = await run('set', '--entity', 'ad_account:42', '--budget', '1')
  assert.deepEqual(
    [budgetless.code, budgetless.stderr],
    [1, 'The ad account 42 has no budget of its own.\n'],
  )

  function find() {
    const found = database.query.selectFrom('ad_entities').selectAll().where('id', '=', id)
    return found.executeTakeFirst()
  }
})
