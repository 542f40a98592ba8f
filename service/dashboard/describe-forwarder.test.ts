import assert from 'node:assert/strict'
import { it } from 'node:test'
import { FORWARDER_KINDS as BROWSER_KINDS } from '@signalbox/browser/forwarder-template.ts'
import { FORWARDER_KINDS } from '@signalbox/contract/session/keys.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService } from '../../testing/fixtures/service.ts'

it('fills in each forwarder with the address of the service and the path in the shop', async test => {
  assert.deepEqual(FORWARDER_KINDS, BROWSER_KINDS)
  const service = await startTestService(test, { publicOrigin: 'http://signalbox.example' })
  const { owner, path } = await openDashboardWorkspace(service)
  for (const kind of FORWARDER_KINDS) {
    const address = `${path}/forwarders/${kind}?path=/shop/sb`
    const { status, body } = await owner.client.call('GET', address)
    assert.equal(status, 200)
    assert.match(body.source, /http:\/\/signalbox\.example\/api\/v1/)
    assert.doesNotMatch(body.source, /__\w+__/)
    assert.match(body.page_snippet, /endpoint: '\/shop\/sb'/)
    assert.ok(body.steps.length >= 4)
    assert.doesNotMatch(JSON.stringify(body), /sbx_[a-z]+_[0-9a-f]{8}/, 'no secret')
  }
})

it('returns 404 for an unknown forwarder and 422 for an invalid path', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const get = (rest: string) => owner.client.call('GET', `${path}/forwarders/${rest}`)
  assert.equal((await get('apache')).status, 404)
  assert.match((await get('express')).body.page_snippet, /endpoint: '\/sb'/)
  for (const invalid of ["/sb'", 'sb', '/a b', `/${'a'.repeat(200)}`, '/sb%0aevil']) {
    const reply = await get(`express?path=${encodeURIComponent(invalid)}`)
    assert.deepEqual([reply.status, Object.keys(reply.body.errors)], [422, ['path']], invalid)
  }
})
