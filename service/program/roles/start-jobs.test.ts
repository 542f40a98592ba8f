// Full run only: starts whole programs and waits for their jobs.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { expireJobLeases } from '../../../testing/fixtures/jobs.ts'
import { createInstallation, type TestProgram } from '../../../testing/fixtures/program.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Database } from '../../runtime/db/database.ts'
import { enqueueJob, readJobStatistics } from '../../runtime/jobs/job-store.ts'
import { sealCredential } from '../../runtime/util/sealed-credential.ts'
import { insertTracker } from '../../signals/access/tracker-store.ts'
import { insertDestination } from '../../signals/delivery/destination-store.ts'
import { raiseAlert } from '../../signals/reports/alert-store.ts'
import { raiseNotification } from '../../workspaces/notifications/notification-store.ts'
import { insertWorkspace } from '../../workspaces/users/workspace-store.ts'

/** Opens the credentials in the store; a program with another key does not start. */
const CREDENTIAL_KEY = Buffer.alloc(32, 7)

/** A worker program on a store of its own. */
async function deliverOn(test: TestContext, environment: Record<string, string> = {}) {
  const { database, connectionString } = await createTestDatabase(test)
  const installation = createInstallation(test)
  const start = async () => {
    const program = installation.start({
      role: 'deliver',
      environment: {
        DATABASE_URL: connectionString,
        SIGNALBOX_PLATFORM_URL: 'http://127.0.0.1:9',
        SIGNALBOX_CREDENTIAL_KEY: CREDENTIAL_KEY.toString('hex'),
        ...environment,
      },
    })
    await program.waitForOutput(/Signalbox delivers to/)
    return program
  }
  return { database, start, emails: () => installation.emails() }
}

function logged(program: TestProgram, sentence: string): Record<string, unknown>[] {
  const lines = program.stdout().split('\n').filter(Boolean)
  return lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === sentence)
}

it('deliver runs every job, and records each run in the log and the store', async test => {
  const { database, start } = await deliverOn(test, { LOG_LEVEL: 'debug' })
  const program = await start()
  const periodic = [
    'prepare-partitions',
    'replace-text-tokens',
    'make-due-reports',
    'take-due-snapshots',
    'poll-receipts',
    'send-erasures',
    'expire-payloads',
    'expire-ledger',
    'expire-attempts',
    'expire-counts',
    'watch-page-withdrawals',
    'verify-audit',
    'verify-new-audit-entries',
    'collect-ended-access',
  ] as const
  const day = { trackerId: '0190bbbb-0000-7000-8000-000000000001', date: '2026-11-01' }
  for (const name of periodic) await enqueueJob(database, name)
  await enqueueJob(database, 'refresh-report', day)
  await waitUntil(
    'all are done',
    () => logged(program, 'a job succeeded').length === periodic.length + 1,
  )
  const done = logged(program, 'a job succeeded').map(({ task }) => task)
  assert.deepEqual(done.toSorted(), [...periodic, 'refresh-report'].toSorted())
  await waitUntil('nothing is left', async () => {
    const { counts } = await readJobStatistics(database, periodic)
    return counts.queued + counts.running === 0
  })
  const { successAgeSeconds } = await readJobStatistics(database, periodic)
  assert.deepEqual([...successAgeSeconds.keys()].sort(), periodic.toSorted())
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
  assert.equal(logged(program, 'the job worker failed; it continues').length, 0)
})

it('writes the email of a notification to the outbox, with links to the public origin', async test => {
  const { database, start, emails } = await deliverOn(test, {
    SIGNALBOX_PUBLIC_ORIGIN: 'https://signalbox.example',
  })
  const user = { database, clock: new TestClock(), url: 'http://127.0.0.1:9' }
  const { workspaceId, owner } = await createTestWorkspace(user)
  await raiseNotification(database, {
    workspaceId,
    topic: 'approvals',
    type: 'approval.requested',
    recipients: { permission: 'decide_actions', userId: null },
    subject: { type: 'proposal', id: '7' },
    text: 'A robot proposes a change.',
    path: '/workspaces/1/approvals/7',
    at: user.clock.now(),
  })
  const program = await start()
  await enqueueJob(database, 'send-notifications')
  await waitUntil('the email is in the outbox', () => emails().length > 0)
  assert.equal(emails().length, 1)
  const [text = ''] = emails()
  assert.ok(text.startsWith(`To: ${owner.email}\nSubject: A proposal waits for approval: Shop\n`))
  assert.match(text, /^ {2}https:\/\/signalbox\.example\/workspaces\/1\/approvals\/7$/m)
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
})

it('sends an alert once when processes are killed before and after it is announced', async test => {
  const { database, start, emails } = await deliverOn(test)
  await raiseTestAlert(database)
  const { pool } = database
  const count = async (table: string) =>
    (await pool.query(`select count(*) as count from ${table}`)).rows[0].count

  const beforeCommit = await start()
  const lock = await pool.connect()
  await lock.query('begin; lock table notifications in exclusive mode')
  await enqueueJob(database, 'announce-alerts')
  await waitUntil('the transaction waits', async () => {
    const { rows } = await pool.query(
      `select 1 from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock' and query like '%insert into notifications%'`,
    )
    return rows.length > 0
  })
  await beforeCommit.kill('SIGKILL')
  await lock.query('commit')
  lock.release()
  assert.deepEqual([await count('announced_alerts'), await count('notifications')], [0, 0])

  await expireJobLeases(database)
  const beforeSending = await start()
  await enqueueJob(database, 'announce-alerts')
  await waitUntil('it is announced', async () => (await count('announced_alerts')) === 1)
  await beforeSending.kill('SIGKILL')

  await expireJobLeases(database)
  const last = await start()
  await enqueueJob(database, 'announce-alerts')
  await enqueueJob(database, 'send-notifications')
  await waitUntil('the email is in the outbox', () => emails().length > 0)
  await enqueueJob(database, 'announce-alerts')
  await enqueueJob(database, 'send-notifications')
  assert.deepEqual(await last.kill('SIGTERM'), { code: 0, signal: null })
  assert.equal(emails().length, 1)
  assert.match(emails()[0] ?? '', /^Subject: Alert: Shop$/m)
})

/** An alert about a destination, as a job raises it, in a workspace with an owner. */
async function raiseTestAlert(database: Database): Promise<void> {
  const clock = new TestClock()
  const createdAt = clock.now()
  const { workspaceId } = await createTestWorkspace({ database, clock, url: 'http://127.0.0.1:9' })
  const [trackerId, destinationId] = [randomUUID(), randomUUID()]
  const keys = { current: CREDENTIAL_KEY, previous: [] }
  await insertTracker(database, { id: trackerId, workspaceId, name: 'Web', createdAt })
  await insertDestination(database, {
    trackerId,
    id: destinationId,
    platform: 'meta',
    createdAt,
    config: { dataset_id: '1234567890' },
    sealedCredential: sealCredential(keys, destinationId, 'token'),
  })
  const subject = { trackerId, destinationId, kind: 'emq_low' } as const
  await raiseAlert({ database }, { ...subject, sentence: 'Low.', details: {} }, createdAt)
}

it('logs an error for a changed audit log without failing the job', async test => {
  const { database, start } = await deliverOn(test)
  const workspaceId = await insertWorkspace(database, { name: 'Shop', createdAt: new Date() })
  await database.pool.query('insert into audit_heads values ($1, 7, $2, $2)', [
    workspaceId,
    Buffer.alloc(32),
  ])
  const program = await start()
  await enqueueJob(database, 'verify-audit')
  const errors = () => logged(program, 'an audit log was changed')
  await waitUntil('it is found', () => errors().length === 1)
  const [{ level, workspace, sequence, finding } = {}] = errors()
  assert.deepEqual([level, workspace, sequence], ['error', workspaceId, 1])
  assert.match(String(finding), /^The head of the log is not signed by a key of this installation/)
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
  assert.equal(logged(program, 'a job failed; it is retried').length, 0)
})

it('logs a failed job with its name and without its payload', async test => {
  const { database, start } = await deliverOn(test)
  const program = await start()
  await database.pool.query('alter table send_attempts rename to send_attempts_away')
  await enqueueJob(database, 'expire-attempts', { note: 'nobody-should-read-this' })
  const failures = () => logged(program, 'a job failed; it is retried')
  await waitUntil('it failed', () => failures().length === 1)
  assert.equal(failures()[0]?.task, 'expire-attempts')
  assert.doesNotMatch(program.stdout(), /nobody-should-read-this/)
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
})

it('SIGNALBOX_JOBS=off leaves the jobs to other processes', async test => {
  const { database, start } = await deliverOn(test, { SIGNALBOX_JOBS: 'off' })
  const program = await start()
  const { rows } = await database.pool.query(
    `select count(*) from pg_stat_activity
     where datname = current_database() and application_name = 'signalbox jobs'`,
  )
  assert.deepEqual(rows, [{ count: 0 }])
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
})
