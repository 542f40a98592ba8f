import assert from 'node:assert/strict'
import { it } from 'node:test'
import { connectAgent, startOauthFixture } from '../../../testing/fixtures/oauth.ts'
import { verifyAgentToken } from '../../workspaces/oauth/authenticate-agent.ts'
import { toProposer } from './action.ts'

it('keeps the principal of a connection, which scopes its keys, when tokens rotate', async test => {
  const fixture = await startOauthFixture(test)
  const { service } = fixture
  const { agent, accessToken, refreshToken } = await connectAgent(fixture)
  const principalOf = async (token: string) => {
    const principal = await verifyAgentToken(service.database, {
      authorization: `Bearer ${token}`,
      audience: 'mcp',
      origin: service.url,
      now: service.clock.now(),
    })
    return [toProposer(principal), principal.adAccountId]
  }
  const first = await principalOf(accessToken)
  const second = await agent.refresh(refreshToken)
  assert.deepEqual(await principalOf(second.access_token), first)
  const third = await agent.refresh(second.refresh_token ?? '')
  assert.deepEqual(await principalOf(third.access_token), first)
})
