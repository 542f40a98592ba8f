import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { PolicySubmission } from '@signalbox/contract/agents/policy.ts'
import {
  createAgentFixture,
  createFixtureMember,
  NO_CEILINGS,
} from '../../../testing/fixtures/agents.ts'
import { blockAuditWrites, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { changePolicy } from './change-policy.ts'
import { NO_AMOUNT_LIMITS } from './money-limits.ts'
import { DEFAULT_POLICY, readPolicy } from './policy-store.ts'

const LIMITS: PolicySubmission['limits'] = {
  change_percent_max: 30,
  change_minor_max: null,
  daily_total_minor_max: 9_000,
  actions_per_day_max: 0,
  allowed_types: ['resume', 'pause'],
  quiet_hours: { from: '22:00', until: '06:30' },
  ...NO_CEILINGS,
  currency_limits: [],
}
const BODY: PolicySubmission = {
  version: 0,
  execution_mode: 'auto_with_limits',
  limits: LIMITS,
}

async function stageOf(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database, { isAlone: true })
  const { workspaceId, owner } = fixture
  const context = { ...fixture.context, settings: { policyWaitHours: 24 } }
  const change = async (body: unknown, user = owner) => {
    const request = { user, workspaceId: String(workspaceId) }
    return (await changePolicy(context, request, body)).policy
  }
  const read = () => readPolicy(database, workspaceId, context.now())
  return { ...fixture, change, read }
}

it('starts with suggest_only and narrow limits', async test => {
  const { read } = await stageOf(test)
  assert.deepEqual(await read(), DEFAULT_POLICY)
  assert.equal(DEFAULT_POLICY.execution_mode, 'suggest_only')
})

it('replaces the whole policy and increments its version', async test => {
  const { change, read, clock } = await stageOf(test)
  const changed = await change(BODY)
  const expected = {
    version: 1,
    execution_mode: 'auto_with_limits',
    changed_at: clock.now().toISOString(),
    limits: { ...LIMITS, allowed_types: ['pause', 'resume'] },
  }
  assert.deepEqual(changed, expected)
  assert.deepEqual(await read(), expected)
  clock.advance(60)
  const second = await change({ ...BODY, version: 1, execution_mode: 'ask' })
  assert.deepEqual([second.version, second.execution_mode], [2, 'ask'])
  assert.deepEqual(await read(), second)
})

it('audits the policy before and after, and the person who changed it', async test => {
  const { change, database, workspaceId, owner, clock } = await stageOf(test)
  await change(BODY)
  const [entry, ...others] = await readAuditEntries(database, workspaceId, 'policy.changed')
  assert.deepEqual(others, [])
  const { version, execution_mode, limits } = DEFAULT_POLICY
  assert.deepEqual(
    { actor: entry?.actor, subject: entry?.subject, at: entry?.at, details: entry?.details },
    {
      actor: { type: 'person', id: String(owner.userId) },
      subject: { type: 'policy', id: String(workspaceId) },
      at: clock.now().toISOString(),
      details: {
        before: { version, execution_mode, limits },
        after: { ...BODY, version: 1, limits: { ...LIMITS, allowed_types: ['pause', 'resume'] } },
      },
    },
  )
})

it('returns 409 for an outdated version, and changes nothing', async test => {
  const { change, read, database, workspaceId } = await stageOf(test)
  await change(BODY)
  for (const version of [0, 2]) {
    await assert.rejects(change({ ...BODY, version, execution_mode: 'ask' }), { status: 409 })
  }
  assert.equal((await read()).execution_mode, 'auto_with_limits')
  assert.equal((await readAuditEntries(database, workspaceId, 'policy.changed')).length, 1)
})

it('returns 409 for all but one of many concurrent changes', async test => {
  const { change, read, database, workspaceId } = await stageOf(test)
  for (const version of [0, 1]) {
    const tries = Array.from({ length: 8 }, () => change({ ...BODY, version }))
    const results = await Promise.allSettled(tries)
    const statuses = results.map(result =>
      result.status === 'fulfilled' ? 200 : (result.reason as Refusal).status,
    )
    assert.deepEqual(statuses.sort(), [200, ...Array(7).fill(409)])
    assert.equal((await read()).version, version + 1)
  }
  assert.equal((await readAuditEntries(database, workspaceId, 'policy.changed')).length, 2)
})

it('returns 403 unless the person is an owner, and 404 unless they are a member', async test => {
  const fixture = await stageOf(test)
  for (const role of ['admin', 'member'] as const) {
    const user = await createFixtureMember(fixture, role)
    await assert.rejects(fixture.change(BODY, user), { status: 403 })
  }
  const stranger = (await createAgentFixture(fixture.database)).owner
  await assert.rejects(fixture.change(BODY, stranger), { status: 404 })
  assert.equal((await fixture.read()).version, 0)
})

it('returns 422 naming every invalid field', async test => {
  const { change, read } = await stageOf(test)
  const wrong = {
    version: '0',
    execution_mode: 'always',
    limits: {
      change_percent_max: -1,
      change_minor_max: 1.5,
      actions_per_day_max: 10_001,
      allowed_types: ['pause', 'pause', 'delete'],
      quiet_hours: { from: '24:00' },
    },
    more: true,
  }
  await assert.rejects(change(wrong), ({ status, errors }: Refusal) => {
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(errors ?? {}).sort(), [
      'execution_mode',
      'limits.actions_per_day_max',
      'limits.allowed_types',
      'limits.allowed_types.2',
      'limits.change_minor_max',
      'limits.change_percent_max',
      'limits.daily_total_minor_max',
      'limits.quiet_hours.from',
      'limits.quiet_hours.until',
      'more',
      'version',
    ])
    return true
  })
  const endless = { ...LIMITS, quiet_hours: { from: '08:00', until: '08:00' } }
  await assert.rejects(change({ ...BODY, limits: endless }), ({ errors }: Refusal) => {
    assert.deepEqual(Object.keys(errors ?? {}), ['limits.quiet_hours.until'])
    return true
  })
  for (const body of [null, [], 'text', 7]) await assert.rejects(change(body), { status: 422 })
  assert.equal((await read()).version, 0)
})

it('stores limits per currency, and reads policies without them', async test => {
  const { change, read, database } = await stageOf(test)
  const none = NO_AMOUNT_LIMITS
  const yen = { ...none, currency: 'JPY', change_minor_max: 9_000 }
  const euro = { ...none, currency: 'EUR', daily_total_minor_max: 700 }
  const currency_limits = [yen, { ...none, currency: 'USD' }, euro]
  const { limits } = await change({ ...BODY, limits: { ...LIMITS, currency_limits } })
  assert.deepEqual(limits.currency_limits, [euro, yen])
  const wrong = [yen, yen, { ...none, currency: 'XXX' }]
  const refused = change({ ...BODY, version: 1, limits: { ...LIMITS, currency_limits: wrong } })
  await assert.rejects(refused, ({ errors }: Refusal) => {
    assert.deepEqual(Object.keys(errors ?? {}), [
      'limits.currency_limits.1.currency',
      'limits.currency_limits.2.currency',
    ])
    return true
  })
  // As an earlier version stored it.
  await database.pool.query(`update agent_policies set limits = limits - 'currency_limits'`)
  assert.deepEqual((await read()).limits.currency_limits, [])
})

it('changes nothing if the audit entry cannot be written', async test => {
  const { change, read, database } = await stageOf(test)
  await blockAuditWrites(database)
  await assert.rejects(change(BODY), /audit_entries/)
  assert.equal((await read()).version, 0)
})
