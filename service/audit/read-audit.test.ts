import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAuditFixture, sampleEntry } from '../../testing/fixtures/audit.ts'
import { createTestWorkspace } from '../../testing/fixtures/users.ts'
import type { AuditActor } from './audit-entry.ts'
import { readAudit } from './read-audit.ts'

it('returns pages from the newest to the oldest entry, with a cursor until the end', async test => {
  const { database, write, newWorkspace, workspaceId } = await createAuditFixture(test)
  await write(5)
  await write(2, await newWorkspace())
  const first = await readAudit(database, workspaceId, { limit: 2 })
  assert.deepEqual(
    first.entries.map(({ sequence }) => sequence),
    [5, 4],
  )
  assert.equal(first.next_before, 4)
  const last = await readAudit(database, workspaceId, { before: 4, limit: 3 })
  assert.deepEqual(
    last.entries.map(({ sequence }) => sequence),
    [3, 2, 1],
  )
  assert.equal(last.next_before, null)
  assert.match(last.entries[0]?.hash ?? '', /^[0-9a-f]{64}$/)
})

it('filters entries by action and subject', async test => {
  const { database, trail, workspaceId } = await createAuditFixture(test)
  const sample = sampleEntry(workspaceId, 1)
  const subject = { type: 'action', id: '7' } as const
  await trail.append(database, sample)
  await trail.append(database, { ...sample, action: 'action.approved', subject })
  await trail.append(database, { ...sample, action: 'action.executed', subject })
  const findSequences = async (query: object) => {
    const { entries } = await readAudit(database, workspaceId, { limit: 10, ...query })
    return entries.map(({ sequence }) => sequence)
  }
  assert.deepEqual(await findSequences({ action: 'action.approved' }), [2])
  assert.deepEqual(await findSequences({ subjectType: 'action', subjectId: '7' }), [3, 2])
  assert.deepEqual(await findSequences({ subjectType: 'action', subjectId: '8' }), [])
  assert.deepEqual(await findSequences({ subjectType: 'key', before: 2 }), [1])
})

it('shows the current name of actors of this workspace', async test => {
  const { database, trail, clock } = await createAuditFixture(test)
  const { workspaceId, owner } = await createTestWorkspace({ url: 'http://x', database, clock })
  const trackerId = '0190bbbb-0000-7000-8000-00000000000a'
  await database.pool.query('insert into trackers values ($1, $2, $3, $4)', [
    trackerId,
    workspaceId,
    'Shop tracker',
    clock.now(),
  ])
  const actors: AuditActor[] = [
    { type: 'person', id: String(owner.userId) },
    { type: 'person', id: '999999' },
    { type: 'person', id: '99999999999999999999' },
    { type: 'tracker', id: trackerId },
    { type: 'tracker', id: 'no uuid' },
    { type: 'execution_token', id: '1' },
    { type: 'connection', id: '1' },
    { type: 'system', id: null },
  ]
  for (const actor of actors) {
    await trail.append(database, { ...sampleEntry(workspaceId, 1), actor })
  }
  const { entries } = await readAudit(database, workspaceId, { limit: 20 })
  assert.deepEqual(
    entries.map(({ actor }) => actor).toReversed(),
    actors.map((actor, index) => ({
      ...actor,
      name: index === 0 ? owner.email : index === 3 ? 'Shop tracker' : null,
    })),
  )
})

it('shows a tampered entry', async test => {
  const { database, write, asOwner, workspaceId } = await createAuditFixture(test)
  await write(2)
  const tampered = { action: 7, at: 'x', actor: 'me', subject: { type: 'key', id: 1 }, details: [] }
  await asOwner(client =>
    client.query('update audit_entries set body = $1 where sequence = 1', [
      JSON.stringify(tampered),
    ]),
  )
  const { entries } = await readAudit(database, workspaceId, { limit: 3 })
  assert.equal(entries.length, 2)
  const { hash, ...shown } = entries[1] ?? {}
  assert.deepEqual(shown, {
    sequence: 1,
    at: '1970-01-01T00:00:00.000Z',
    actor: { type: 'unknown', id: null, name: null },
    action: '7',
    subject: { type: 'key', id: 'unknown' },
    details: {},
  })
})
