import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { createTestDatabase, type TestDatabase } from '../../../testing/fixtures/database.ts'
import { listenForNotifications, type NotificationListener } from './notification-listener.ts'

interface TestListener {
  listener: NotificationListener
  /** Resolves after this many notifications. */
  received(count: number): Promise<void>
  lost: Promise<void>
  lostCount(): number
}

async function listen(test: TestContext, { connectionString }: TestDatabase, channel: string) {
  const lost = Promise.withResolvers<void>()
  let losses = 0
  let notifications = 0
  let waiting: { count: number; resolve: () => void } | null = null
  const testListener: TestListener = {
    listener: await listenForNotifications({
      connectionString,
      channel,
      onNotification: () => {
        notifications += 1
        if (waiting && notifications >= waiting.count) waiting.resolve()
      },
      onLost: () => {
        losses += 1
        lost.resolve()
      },
    }),
    received: count =>
      new Promise<void>(resolve => {
        waiting = { count, resolve }
        if (notifications >= count) resolve()
      }),
    lost: lost.promise,
    lostCount: () => losses,
  }
  test.after(() => testListener.listener.close().catch(() => {}))
  return testListener
}

function findBackends({ database }: TestDatabase): Promise<{ rows: { pid: number }[] }> {
  return database.pool.query(
    `select pid from pg_stat_activity
     where application_name = 'signalbox notices' and datname = current_database()`,
  )
}

it('receives every notification of its channel and none of another', async test => {
  const store = await createTestDatabase(test)
  const testListener = await listen(test, store, 'signalbox_test')
  const { pool } = store.database
  await pool.query("select pg_notify('signalbox_other', '')")
  await pool.query("select pg_notify('signalbox_test', '')")
  await pool.query("select pg_notify('signalbox_test', 'again')")
  await testListener.received(2)
  assert.equal(testListener.lostCount(), 0)
})

it('accepts any characters in a channel name', async test => {
  const store = await createTestDatabase(test)
  const testListener = await listen(test, store, 'Odd "name"; drop table events')
  await store.database.pool.query('select pg_notify($1, $2)', ['Odd "name"; drop table events', ''])
  await testListener.received(1)
})

it('reports a broken connection once, and can listen again', async test => {
  const store = await createTestDatabase(test)
  const testListener = await listen(test, store, 'signalbox_test')
  const { rows } = await findBackends(store)
  assert.equal(rows.length, 1)
  await store.database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await testListener.lost
  assert.equal(testListener.lostCount(), 1)

  const again = await listen(test, store, 'signalbox_test')
  await store.database.pool.query("select pg_notify('signalbox_test', '')")
  await again.received(1)
})

it('reports no loss when it is closed', async test => {
  const store = await createTestDatabase(test)
  const testListener = await listen(test, store, 'signalbox_test')
  await testListener.listener.close()
  assert.equal(testListener.lostCount(), 0)
})

it('rejects when the connection is refused', async () => {
  const connectionString = `postgres://u@127.0.0.1:${await findFreePort()}/x`
  let losses = 0
  const onLost = () => {
    losses += 1
  }
  const listening = listenForNotifications({
    connectionString,
    channel: 'signalbox_test',
    onNotification: () => {},
    onLost,
  })
  await assert.rejects(listening, { code: 'ECONNREFUSED' })
  assert.equal(losses, 0)
})

it('times out when the server accepts the connection and never answers', async test => {
  const sockets = new Set<Socket>()
  const silentServer = createServer(socket => void sockets.add(socket))
  await new Promise<void>(resolve => silentServer.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => silentServer.close(resolve))
  })
  const { port } = silentServer.address() as { port: number }
  const listening = listenForNotifications({
    connectionString: `postgres://u@127.0.0.1:${port}/x`,
    channel: 'signalbox_test',
    onNotification: () => {},
    onLost: () => {},
  })
  await assert.rejects(listening, /timeout/)
})
