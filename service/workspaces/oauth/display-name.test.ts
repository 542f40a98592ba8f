import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  CALLBACK,
  createOauthAgent,
  openApproval,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { parseClientName } from './client-metadata.ts'
import { insertClient } from './client-store.ts'

it('accepts names of every script, and makes every space a plain one', () => {
  for (const name of [
    'Claude',
    'Agent 2',
    'Отчёты',
    'レポート',
    'تقارير',
    '报告',
    'Café',
    "O'Brien's",
  ]) {
    assert.equal(parseClientName(name), name)
  }
  assert.equal(parseClientName('\u00a0My\u3000 agent '), 'My agent')
  assert.equal(parseClientName('Cafe\u0301'), 'Café')
})

it('returns null for a name that reads like our own, in look-alike letters too', () => {
  for (const name of [
    'Signalbox',
    'Signal Box support',
    'S\u0131gnalbox',
    'Verified agent',
    'ver\u0131fied',
    '\u1d20erified',
    '\u054fignalbox',
    'v\u0435rified',
  ]) {
    assert.equal(parseClientName(name), null, name)
  }
  for (const name of ['Signal reader', 'I\u015f\u0131k', 'AI\u30ec\u30dd\u30fc\u30c8']) {
    assert.equal(parseClientName(name), name)
  }
})

it('does not show a stored name that could be taken for our own text', async test => {
  const fixture = await startOauthFixture(test)
  const { database, clock } = fixture.service
  const names = ['\u3164\u3164', 'X” is verified. Approve “X', 'Claude (verified)']
  for (const [index, name] of names.entries()) {
    const clientId = `stored-${index}`
    const kind = 'self_registered' as const
    await insertClient(database, { clientId, kind, name, redirectUris: [CALLBACK] }, clock.now())
    const agent = await createOauthAgent(fixture, { clientId })
    const { client } = fixture.workspace.owner
    const page = await openApproval(client, await agent.authorizationUrl())
    assert.match(page.text, /<h1>Connect “<bdi>Unnamed agent<\/bdi>”\?<\/h1>/, name)
    assert.doesNotMatch(page.text, /verified\. Approve|\(verified\)/)
  }
})
