import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  approve,
  createOauthAgent,
  type OauthFixture,
  openApproval,
  startOauthFixture,
  submitDecision,
} from '../../../testing/fixtures/oauth.ts'

const PHISHING = 'https://phishing.example/sign-in'

/** Requests that the authorization server refuses before anyone has signed in. */
const REFUSED: Record<string, string | null>[] = [
  { code_challenge: null, code_challenge_method: null },
  { code_challenge_method: 'plain' },
  { response_type: 'token' },
  { response_mode: 'form_post' },
  { response_mode: 'fragment', code_challenge: null },
  { scope: 'openid email' },
  { resource: 'https://elsewhere.example' },
  { prompt: 'none' },
  { request: 'x' },
  { state: 'a\0b', code_challenge: null },
]

it('shows a page instead of redirecting to a self-registered address with an error', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await phishingAgent(fixture)
  for (const changes of REFUSED) {
    const url = await agent.authorizationUrl(changes)
    for (const headers of [{}, signedIn(fixture)]) {
      const reply = await fetch(url, { redirect: 'manual', headers })
      const text = await reply.text()
      const where = JSON.stringify(changes)
      assert.equal(reply.status, 400, where)
      assert.equal(reply.headers.get('location'), null, where)
      assert.match(text, /<h1>Connection failed<\/h1>/, where)
      assert.match(text, /phishing\.example/, where)
      assert.equal(/<form|<script|http-equiv/.test(text), false, where)
      assert.match(reply.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    }
  }
})

it('links to the agent, which learns of the error when the person follows the link', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await phishingAgent(fixture)
  const url = await agent.authorizationUrl({ code_challenge: null, state: '"><b>' })
  const text = await (await fetch(url, { redirect: 'manual' })).text()
  assert.equal(text.includes('<b>'), false)
  const [, href = ''] = /<a href="([^"]*phishing[^"]*)" rel="noreferrer"/.exec(text) ?? []
  const decode = (_: string, code: string) => String.fromCharCode(Number(code))
  const target = new URL(href.replace(/&#(\d+);/g, decode))
  assert.equal(target.origin + target.pathname, PHISHING)
  assert.equal(target.searchParams.get('error'), 'invalid_request')
  assert.equal(target.searchParams.get('state'), '"><b>')
  assert.equal(target.searchParams.get('iss'), fixture.service.url)
})

it('redirects to a program on the same computer, which waits for the error', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const url = await agent.authorizationUrl({ code_challenge: null })
  const reply = await fetch(url, { redirect: 'manual' })
  assert.equal(reply.status, 303)
  assert.match(reply.headers.get('location') ?? '', /^http:\/\/127\.0\.0\.1:8765\/callback\?error=/)
})

it('redirects to a self-registered address after a person decided', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await phishingAgent(fixture)
  const approved = await approve(fixture.workspace, await agent.authorizationUrl())
  assert.ok(approved.href.startsWith(`${PHISHING}?code=`))
  const { client } = fixture.workspace.owner
  await openApproval(client, await agent.authorizationUrl())
  const denied = await submitDecision(client, { decision: 'deny' })
  assert.ok(denied.href.startsWith(`${PHISHING}?error=access_denied`))
})

async function phishingAgent(fixture: OauthFixture) {
  const clientId = await fixture.register([PHISHING])
  return createOauthAgent(fixture, { clientId, redirectUri: PHISHING })
}

function signedIn({ workspace }: OauthFixture): Record<string, string> {
  return { cookie: workspace.owner.client.cookieHeader }
}
