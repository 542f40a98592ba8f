import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { dumpAsText } from '../../../testing/fixtures/database-dump.ts'
import {
  agentResource,
  approve,
  connectAgent,
  createDeviceClient,
  createOauthAgent,
  requestToken,
  startOauthFixture,
  submitDecision,
} from '../../../testing/fixtures/oauth.ts'
import { issueExecutionToken } from './execution-tokens.ts'

it('stores and logs no bearer value', async test => {
  const fixture = await startOauthFixture(test)
  const { database, clock } = fixture.service
  const { owner, workspaceId, adAccountId } = fixture.workspace
  const { client: browser } = owner
  const secrets: [string, string][] = []

  const agent = await createOauthAgent(fixture)
  const url = await agent.authorizationUrl()
  await browser.get(url.pathname + url.search)
  for (const [name, value] of browser.cookies) secrets.push([name, value])
  const open = await dumpAsText(database)
  const callback = await submitDecision(browser, {
    ad_account_id: String(adAccountId),
    decision: 'approve',
  })
  const code = callback.searchParams.get('code') ?? ''
  secrets.push(['code', code])
  const tokens = await requestToken(fixture, agent, { code })
  secrets.push(['access token', tokens.body.access_token])
  secrets.push(['refresh token', tokens.body.refresh_token])
  const rotated = await agent.refresh(tokens.body.refresh_token)
  secrets.push(['second access token', rotated.access_token])
  secrets.push(['second refresh token', rotated.refresh_token ?? ''])
  secrets.push([
    'management token',
    (await connectAgent(fixture, agentResource(fixture))).accessToken,
  ])

  const form = { client_id: await createDeviceClient(fixture) }
  const device = await fixture.send('/oauth2/device/code', { form })
  secrets.push(['device code', device.body.device_code])
  secrets.push(['user code', device.body.user_code.replace('-', '')])
  await browser.get('/oauth2/device')
  for (const [name, value] of browser.cookies) secrets.push([name, value])
  await browser.submit({ fields: { user_code: device.body.user_code } })
  await browser.submit({ button: ['confirm', 'yes'] })
  const half = await dumpAsText(database)
  await submitDecision(browser, { ad_account_id: String(adAccountId), decision: 'approve' })

  const scope = { database, audit: createTestAuditTrail(fixture.service) }
  const issued = await issueExecutionToken(scope, {
    workspaceId,
    issuedBy: owner.userId,
    adAccountId,
    tier: 'read',
    days: 30,
    name: 'CI',
    issuedAt: clock.now(),
  })
  secrets.push(['execution token', issued.token])
  const again = await approve(fixture.workspace, await agent.authorizationUrl())
  secrets.push(['unused code', again.searchParams.get('code') ?? ''])

  const stored = [open, half, await dumpAsText(database)].join('\n')
  const logged = fixture.service.logged()
  assert.ok(stored.includes('AccessToken') && stored.includes('DeviceCode'))
  assert.ok(logged.includes('/oauth2/token'))
  assert.ok(secrets.length >= 14)
  for (const [name, secret] of secrets) {
    assert.ok(secret.length >= 8, name)
    const hex = Buffer.from(secret).toString('hex')
    for (const [place, text] of Object.entries({ stored, logged })) {
      assert.equal(text.includes(secret), false, `${name} is ${place}`)
      assert.equal(text.includes(hex), false, `${name} is ${place} in hexadecimal`)
    }
  }
})
