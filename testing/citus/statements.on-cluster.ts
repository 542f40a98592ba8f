import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { openStoreNodes } from '../../service/db/store-nodes.ts'
import { insertDestination } from '../../service/delivery/destination-store.ts'
import { GROWN_DESTINATION, GROWN_ON, GROWN_TRACKER } from '../grown-store.ts'
import { HOT_STATEMENTS } from '../hot-statements.ts'
import { insertTrackerWithWorkspace } from '../tracker-fixture.ts'
import { citusStore, prepareCitusTemplate } from './citus-store.ts'
import { type CitusAddresses, sharedCluster, startCitusCluster, whyNoCitus } from './cluster.ts'

const skip = whyNoCitus() ?? false
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
  const { database, connectionString } = await citusStore(test, cluster)
  const nodes = await openStoreNodes(database, {
    connectionString,
    connectionsMax: 4,
    applicationName: 'statements test',
    onIdleError: () => {},
    monotonicSeconds: () => 0,
  })
  test.after(() => nodes.close())
  const createdAt = new Date(`${GROWN_ON}T00:00:00.000Z`)
  const tracker = { id: GROWN_TRACKER, createdAt }
  await insertTrackerWithWorkspace(database, tracker)
  await insertDestination(database, {
    trackerId: GROWN_TRACKER,
    id: GROWN_DESTINATION,
    platform: 'meta',
    config: { dataset_id: '1' },
    sealedCredential: Buffer.alloc(1),
    createdAt,
  })
  const owner = await nodes.findNode(GROWN_TRACKER)
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
