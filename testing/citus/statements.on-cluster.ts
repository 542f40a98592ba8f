import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { openStoreNodes } from '../../service/runtime/db/store-nodes.ts'
import { insertDestination } from '../../service/signals/delivery/destination-store.ts'
import { insertTrackerWithWorkspace } from '../fixtures/tracker.ts'
import { HOT_STATEMENTS } from '../performance/hot-statements.ts'
import { LARGE_DESTINATION, LARGE_STORE_DAY, LARGE_TRACKER } from '../performance/large-store.ts'
import { createCitusDatabase, prepareCitusTemplate } from './citus-database.ts'
import {
  type CitusAddresses,
  findCitusObstacle,
  sharedCluster,
  startCitusCluster,
} from './cluster.ts'

const skip = findCitusObstacle() ?? false
let cluster: CitusAddresses
let stop = async () => {}

before(async () => {
  if (skip) return
  const shared = sharedCluster()
  if (shared) {
    cluster = shared
    return
  }
  const started = await startCitusCluster()
  stop = started.stop
  cluster = started
  await prepareCitusTemplate(cluster)
})

after(() => stop())

it('takes every hot statement at the owning node and through the coordinator', {
  skip,
}, async test => {
  const { database, connectionString } = await createCitusDatabase(test, cluster)
  const nodes = await openStoreNodes(database, {
    connectionString,
    connectionsMax: 4,
    applicationName: 'statements test',
    onIdleError: () => {},
    monotonicSeconds: () => 0,
  })
  test.after(() => nodes.close())
  const createdAt = new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`)
  const tracker = { id: LARGE_TRACKER, createdAt }
  await insertTrackerWithWorkspace(database, tracker)
  await insertDestination(database, {
    trackerId: LARGE_TRACKER,
    id: LARGE_DESTINATION,
    platform: 'meta',
    config: { dataset_id: '1' },
    sealedCredential: Buffer.alloc(1),
    createdAt,
  })
  const owner = await nodes.findNode(LARGE_TRACKER)
  const refused: string[] = []
  for (const [name, statement] of Object.entries(HOT_STATEMENTS)) {
    for (const [place, node] of [
      ['coordinator', database],
      ['owner', owner],
    ] as const) {
      await statement(node).catch(({ message, detail }) => {
        refused.push(`${name} at the ${place}: ${message} ${detail ?? ''}`)
      })
    }
  }
  assert.deepEqual(refused, [])
})
