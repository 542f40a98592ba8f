import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { findPlatformTarget } from '../../testing/fixtures/simulator.ts'
import { createTestWorkspace } from '../../testing/fixtures/users.ts'

it('ticks each step of the checklist when it happens, from nothing to a delivery', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const { call } = owner.client
  const ask = call.bind(owner.client)
  const trackers = `/browser/workspaces/${workspaceId}/trackers`
  const created = await ask('POST', trackers, { body: { name: 'Shop' } })
  const { secret } = created.body.keys
  const path = `${trackers}/${created.body.id}`
  const read = async () => {
    const { status, body } = await ask('GET', `${path}/start`)
    assert.equal(status, 200)
    const steps: { step: string; is_done: boolean }[] = body.steps
    const done = steps.filter(({ is_done }) => is_done).map(({ step }) => step)
    return { done, isComplete: body.is_complete }
  }
  const expected: string[] = ['key_issued']
  const expectNext = async (step: string) => {
    expected.push(step)
    assert.deepEqual((await read()).done, expected)
  }
  assert.deepEqual(await read(), { done: expected, isComplete: false })

  await service.request('POST', '/api/v1/verification-events', { secret })
  await expectNext('verification_received')

  const { accessToken, datasetId } = await findPlatformTarget(service, service.tracker)
  const config = { dataset_id: datasetId }
  const body = { type: 'meta', config, access_token: accessToken }
  const destination = await ask('POST', `${path}/destinations`, { body })
  await expectNext('destination_connected')

  const one = `${path}/destinations/${destination.body.id}`
  await ask('PATCH', `${one}/test-mode`, { body: { enabled: true } })
  assert.equal((await ask('POST', `${one}/test-purchases`)).status, 200)
  await expectNext('test_purchase_accepted')
  await ask('PATCH', `${one}/test-mode`, { body: { enabled: false } })

  await service.request('POST', '/api/v1/events', { secret, body: samplePurchase() })
  await expectNext('event_received')
  await service.deliver()
  await expectNext('delivery_accepted')
  assert.equal((await read()).isComplete, true)
})

it('does not take tests and other trackers for the first event', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const trackers = `/browser/workspaces/${workspaceId}/trackers`
  const { body } = await owner.client.call('POST', trackers, { body: { name: 'Empty' } })
  await service.submit(samplePurchase())
  await service.deliver()
  const { steps } = (await owner.client.call('GET', `${trackers}/${body.id}/start`)).body
  assert.deepEqual(
    steps.map(({ is_done }: { is_done: boolean }) => is_done),
    [true, false, false, false, false, false],
  )
})
