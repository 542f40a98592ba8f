import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, it } from 'node:test'
import { findBoundDestinations } from '../../service/agents/account/destination-signal-store.ts'
import { findReportedDays } from '../../service/agents/account/performance-store.ts'
import { isStoreUnavailable } from '../../service/runtime/db/database-errors.ts'
import type { StoreNodes } from '../../service/runtime/db/store-nodes.ts'
import { createLastUseRecorder } from '../../service/signals/access/authenticate-tracker.ts'
import { findSignalStatus } from '../../service/workspaces/oauth/principal-store.ts'
import { startTestService, type TestService } from '../fixtures/service.ts'
import { insertTrackerWithWorkspace } from '../fixtures/tracker.ts'
import { waitUntil } from '../fixtures/wait-until.ts'
import { HOT_STATEMENTS } from '../performance/hot-statements.ts'
import { LARGE_STORE_DAY, LARGE_TRACKER } from '../performance/large-store.ts'
import { startOwnCluster } from './citus-database.ts'
import { type CitusCluster, findCitusObstacle } from './cluster.ts'
import { isDelivered, refusals, startWorker } from './running-program.ts'
import { countAnswers, EVENTS_PER_ROUND, firstEvent, sendInRounds } from './simultaneous-load.ts'
import { createTrackersOnEachNode, findTrackerPort, splitByNode } from './tracker-placement.ts'

const skip = findCitusObstacle() ?? false
/** Not the shared cluster, because the tests stop its nodes. */
let cluster: CitusCluster

before(async () => {
  if (!skip) cluster = await startOwnCluster()
})

after(() => cluster?.stop())

/** Statements of one tracker that fail while another node is down, and why they may. */
const NEED_EVERY_NODE = {
  // Rows of all trackers. The service asks node by node where requests or deliveries wait for it.
  'look up destinations': 'of trackers on both nodes here; DestinationRouteCache asks each node',
  'find due queues': 'DueQueueSearch asks each node when it fails',
  'claim due receipts': 'pollReceipts asks each node when it fails',
  'read the backlog': 'for metrics, which are then missing',
  // Writers of payloads may be on any node, so erasure needs all of them.
  'wait for writers': 'erasure',
  'stop erased events': 'erasure',
  'forget answers': 'erasure',
  'erase a hundred events': 'erasure',
  'erase withdrawals': 'erasure',
  // Jobs wait until the node is back.
  'find expiring trackers': 'job',
  'expire a thousand events': 'job',
  'find trackers of old attempts': 'job',
  'delete a thousand attempts': 'job',
  'delete sent counts': 'job',
  'delete stray payloads': 'job',
  'find senders': 'job',
  'find due snapshots': 'job',
  'find alerts to announce': 'job',
  'find hours with many withdrawals': 'job',
  'delete old counts': 'job',
}

it('needs no other node for a statement of one tracker, except erasure and jobs', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const { database } = service
  const createdAt = new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`)
  await insertTrackerWithWorkspace(database, { id: LARGE_TRACKER, createdAt })
  // A statement over all trackers needs the other node only where that has one.
  await createTrackersOnEachNode(service, 1)
  const owner = await nodesOf(service).findNode(LARGE_TRACKER)
  const ownerPort = await findTrackerPort(service, LARGE_TRACKER)
  const other = cluster.ports.findIndex((port, node) => node > 0 && port !== ownerPort)
  await cluster.kill(other)
  const failed = new Set<string>()
  try {
    for (const [name, statement] of Object.entries(HOT_STATEMENTS)) {
      for (const node of [database, owner]) await statement(node).catch(() => failed.add(name))
    }
  } finally {
    await cluster.restart(other)
  }
  assert.deepEqual([...failed].sort(), Object.keys(NEED_EVERY_NODE).sort())
})

it('reads a workspace whose trackers are on another node than the one that is down', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const { database } = service
  const trackers = await createTrackersOnEachNode(service, 1)
  const [ofOther] = await splitByNode(service, trackers, cluster.ports[2] as number)
  const [{ trackerId, destinationId, workspaceId }] = ofOther as [(typeof trackers)[number]]
  const scope = { workspaceId, adAccountId: 1 }
  const pair = { trackerIds: [trackerId], destinationIds: [destinationId] }
  const days = { since: '2026-11-01', until: '2026-11-21' }
  const readAll = async () => [
    await findBoundDestinations(database, scope),
    await findSignalStatus(database, scope),
    await findReportedDays(database, { ...pair, ...days }),
  ]
  const expected = [[], { hasEvents: false, hasDestination: false }, []]
  assert.deepEqual(await readAll(), expected)
  await cluster.kill(2)
  try {
    assert.deepEqual(await readAll(), expected)
  } finally {
    await cluster.restart(2)
  }
})

it('stores the uses of keys and the refusals of trackers on a working node', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const trackers = await createTrackersOnEachNode(service, 2)
  const [ofOther, ofKilled] = await splitByNode(service, trackers, cluster.ports[2] as number)
  const errors: unknown[] = []
  const recordUse = createLastUseRecorder({
    nodes: nodesOf(service),
    now: service.clock.now,
    onTouchError: error => errors.push(error),
  })
  await cluster.kill(2)
  try {
    for (const { trackerId } of [...ofKilled, ...ofOther]) {
      recordUse({ trackerId, digest: hash('sha256', trackerId, 'buffer') })
    }
    for (const { trackerSecret: secret } of [...ofKilled, ...ofOther]) {
      await service.request('POST', '/api/v1/events', { secret, body: {} })
    }
    await service.server.flushRefusals()
    await waitUntil('uses and refusals are stored', async () =>
      (await Promise.all(ofOther.map(each => hasUseAndRefusal(service, each.trackerId)))).every(
        Boolean,
      ),
    )
    assert.deepEqual([...new Set(errors.map(isStoreUnavailable))], [true])
  } finally {
    await cluster.restart(2)
  }
})

async function hasUseAndRefusal(service: TestService, trackerId: string): Promise<boolean> {
  const node = await nodesOf(service).findNode(trackerId)
  const { rows } = await node.pool.query(
    `select exists (
         select 1 from tracker_key_uses where tracker_id = $1::uuid and key_digest = $2::bytea
       ) as is_used,
       exists (select 1 from refusals where tracker_id = $1::uuid) as is_refused`,
    [trackerId, hash('sha256', trackerId, 'buffer')],
  )
  return rows[0].is_used && rows[0].is_refused
}

const TRACKERS_PER_NODE = 5
const ROUNDS = 10

it('refuses and holds no request of other trackers while a node accepts requests in silence', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const trackers = await createTrackersOnEachNode(service, TRACKERS_PER_NODE)
  const [ofOther, ofSilent] = await splitByNode(service, trackers, cluster.ports[2] as number)
  for (const { trackerSecret: secret } of trackers) {
    await service.request('POST', '/api/v1/events', { secret, body: firstEvent() })
  }
  const errors = startWorker(test, service)
  const continueNode = cluster.freeze(2)
  try {
    const rounds = Array.from({ length: ROUNDS }, (_, number) => `round-${number}`)
    const waiting = sendInRounds(service, ofSilent, ['silent'])
    const answers = await sendInRounds(service, ofOther, rounds)
    const events = TRACKERS_PER_NODE * ROUNDS * EVENTS_PER_ROUND
    assert.deepEqual(
      countAnswers(answers, ofOther),
      { events, accepted: events, refused: {} },
      refusals(service),
    )
    await waitUntil(`all of the other node is delivered: ${errors}`, () =>
      isDelivered(service, ofOther),
    )
    continueNode()
    await waiting
  } finally {
    continueNode()
  }
})

function nodesOf({ delivery: { nodes } }: TestService): StoreNodes {
  assert.ok(nodes)
  return nodes
}
