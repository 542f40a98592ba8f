import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type FormPairs, formsOf, submitFormPairs } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  addAdAccount,
  addMember,
  createTestUser,
  createTestWorkspace,
  type TestWorkspace,
} from '../../../testing/fixtures/users.ts'
import { readPolicy } from '../policy/policy-store.ts'

const CHANGED: Record<string, string> = {
  version: '0',
  amount_digits: '2',
  execution_mode: 'auto_with_limits',
  change_percent_max: '10',
  change_minor_max: '25.50',
  daily_total_minor_max: '',
  actions_per_day_max: '4',
  quiet_from: '22:00',
  quiet_until: '07:00',
}

function fieldsWith(changes: Record<string, string> = {}): FormPairs {
  const types: FormPairs = [
    ['allowed_types', 'pause'],
    ['allowed_types', 'decrease_budget'],
  ]
  return [...Object.entries({ ...CHANGED, ...changes }), ...types]
}

function pathOf({ workspaceId }: TestWorkspace): string {
  return `/workspaces/${workspaceId}/policy`
}

it('changes the policy with formatted amounts', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const { client } = workspace.owner
  const before = await client.get(pathOf(workspace))
  assert.match(before.text, /Current policy: Suggest only/)
  assert.match(before.text, /at most 20%, at most €50\.00/)
  assert.equal(formsOf(before.text).at(-1)?.fields.change_minor_max, '50.00')
  const saved = await submitFormPairs(client, pathOf(workspace), fieldsWith())
  assert.deepEqual(saved.redirects, [`${pathOf(workspace)}?done=saved`])
  assert.match(saved.text, /The policy is saved/)
  assert.match(saved.text, /Current policy: Automatic within limits/)
  assert.match(saved.text, /Lower the daily budget, Pause</)
  assert.match(saved.text, /at most 10%, at most €25\.50/)
  assert.match(saved.text, /at most 4 actions,\s+any amount/)
  assert.match(saved.text, /from 22:00 until 07:00/)
  const { limits, version } = await readPolicy(
    service.database,
    workspace.workspaceId,
    service.clock.now(),
  )
  assert.equal(version, 1)
  assert.deepEqual(limits, {
    change_percent_max: 10,
    change_minor_max: 2_550,
    daily_total_minor_max: null,
    actions_per_day_max: 4,
    allowed_types: ['decrease_budget', 'pause'],
    quiet_hours: { from: '22:00', until: '07:00' },
    // The form had no fields for these, so they stay.
    weekly_total_minor_max: 50_000,
    monthly_total_minor_max: 100_000,
    entity_budget_minor_max: null,
    account_budget_minor_max: null,
    entity_budget_times_max: 5,
    active_spend_percent_max: 50,
    currency_limits: [],
  })
})

it('returns 422 with the submitted form and every field error', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const { client } = workspace.owner
  const wrong = {
    execution_mode: 'anything',
    change_percent_max: '2000',
    change_minor_max: '1,000',
    daily_total_minor_max: '99999999999',
    actions_per_day_max: '-1',
    quiet_from: '',
  }
  const page = await submitFormPairs(client, pathOf(workspace), fieldsWith(wrong))
  assert.equal(page.status, 422, page.text)
  for (const field of Object.keys(wrong)) {
    assert.match(page.text, new RegExp(`href="#${field}"`), field)
    assert.match(page.text, new RegExp(`id="${field}-error"`), field)
  }
  assert.match(page.text, /name="change_minor_max"[^>]* value="1,000"/)
  assert.match(page.text, /value="pause" checked/)
  assert.doesNotMatch(page.text, /limits\./)
  assert.equal(
    (await readPolicy(service.database, workspace.workspaceId, service.clock.now())).version,
    0,
  )
})

it('returns 422 for empty quiet hours', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const fields = fieldsWith({ quiet_until: '22:00' })
  const page = await submitFormPairs(workspace.owner.client, pathOf(workspace), fields)
  assert.equal(page.status, 422)
  assert.match(page.text, /id="quiet_until-error">The quiet hours must end at another time/)
})

it('returns 409 with the current policy, and overwrites it when saved again', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const { client } = workspace.owner
  await submitFormPairs(client, pathOf(workspace), fieldsWith({ execution_mode: 'ask' }))
  const late = await submitFormPairs(
    client,
    pathOf(workspace),
    fieldsWith({ change_percent_max: '7' }),
  )
  assert.equal(late.status, 409)
  assert.match(late.text, /Another person changed the policy/)
  assert.match(late.text, /Current policy: Ask/)
  const [form] = formsOf(late.text).filter(({ action }) => action === pathOf(workspace))
  assert.equal(form?.fields.change_percent_max, '7')
  assert.equal(form?.fields.version, '1')
  const again = fieldsWith({ change_percent_max: '7', version: '1' })
  assert.match((await submitFormPairs(client, pathOf(workspace), again)).text, /at most 7%/)
})

it('does not overwrite a concurrent change after a rejected form', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const { client } = workspace.owner
  await submitFormPairs(client, pathOf(workspace), fieldsWith({ execution_mode: 'ask' }))
  const refused = await submitFormPairs(client, pathOf(workspace), fieldsWith({ quiet_from: '' }))
  assert.equal(refused.status, 422)
  assert.match(refused.text, /name="version" value="0"/)
})

it('lets members and admins read the policy, and returns 403 for changes', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  for (const role of ['admin', 'member'] as const) {
    const { userId, client } = await createTestUser(service)
    await addMember(service, { workspaceId: workspace.workspaceId, userId, role })
    const page = await client.get(pathOf(workspace))
    assert.match(page.text, /Current policy: Suggest only/)
    assert.match(page.text, /Only an owner of the workspace can change the policy/)
    assert.doesNotMatch(page.text, /Save the policy/)
    assert.equal((await submitFormPairs(client, pathOf(workspace), fieldsWith())).status, 403)
  }
})

it('shows minor units for currencies with different digits', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const second = await addAdAccount(service, workspace.workspaceId, 'Shop JP')
  await service.database.pool.query(`update ad_accounts set currency = 'JPY' where id = $1`, [
    second,
  ])
  const { text } = await workspace.owner.client.get(pathOf(workspace))
  assert.match(text, /at most €50\.00 or JP¥5,000/)
  assert.match(text, /In minor units: 5000 is €50\.00 or JP¥5,000/)
  assert.match(text, /name="change_minor_max"[^>]* value="5000"/)
  assert.match(text, /name="amount_digits" value="0"/)
})

it('has fields for each of several currencies, in its own digits', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const { client } = workspace.owner
  assert.doesNotMatch((await client.get(pathOf(workspace))).text, /change_minor_max_EUR/)
  const second = await addAdAccount(service, workspace.workspaceId, 'Shop JP')
  await service.database.pool.query(`update ad_accounts set currency = 'JPY' where id = $1`, [
    second,
  ])
  const { text } = await client.get(pathOf(workspace))
  assert.match(text, /Largest budget change per action, as an amount, in JPY/)
  const fields = [
    ...fieldsWith({ change_minor_max: '5000', amount_digits: '0' }),
    ['limit_currency', 'EUR'],
    ['change_minor_max_EUR', '12.50'],
    ['daily_total_minor_max_EUR', ''],
    ['limit_currency', 'JPY'],
    ['change_minor_max_JPY', '2000'],
    ['daily_total_minor_max_JPY', '9000'],
  ] as const
  const saved = await submitFormPairs(client, pathOf(workspace), fields)
  assert.match(saved.text, /at most €12\.50 per action, the general limit per day/)
  assert.match(saved.text, /at most JP¥2,000 per action, at most JP¥9,000 per day/)
  const wrong = fields.map(([name, value]) =>
    name === 'change_minor_max_JPY' ? ([name, '20.5'] as const) : ([name, value] as const),
  )
  const refused = await submitFormPairs(client, pathOf(workspace), [
    ...wrong.filter(([name]) => name !== 'version'),
    ['version', '1'],
  ])
  assert.equal(refused.status, 422)
  assert.match(refused.text, /href="#change_minor_max_JPY"/)
})
