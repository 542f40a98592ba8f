import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  HOSTILE_TEXTS,
  startAgentActionsFixture,
  submitHostileProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import { submitFormPairs, unescapeHtml } from '../../../testing/fixtures/page-client.ts'

const ALLOWED_TAGS =
  /^(a|bdi|blockquote|body|br|button|caption|code|dd|details|div|dl|dt|fieldset|footer|form|h[123]|head|header|html|input|kbd|label|legend|li|link|main|meta|nav|ol|option|p|section|select|small|span|strong|summary|table|tbody|td|textarea|th|thead|time|title|tr|ul)$/

for (const [kind, hostile] of Object.entries(HOSTILE_TEXTS)) {
  it(`escapes ${kind} on every page`, async test => {
    const fixture = await startAgentActionsFixture(test)
    const path = await submitHostileProposal(fixture, hostile)
    const { client } = fixture.workspace.owner
    const base = `/workspaces/${fixture.workspace.workspaceId}`
    const waiting = [await client.get(`${base}/approvals`), await client.get(path)]
    const form = [
      ['action_ids', '1'],
      ['reason', hostile],
    ] as const
    const refused = await submitFormPairs(client, path, form)
    assert.equal(refused.status, 422)
    const decided = await submitFormPairs(client, path, [['decision', 'reject'], ...form])
    assert.match(decided.text, /Your decision is saved/)
    const log = await client.get(`${base}/audit?subject_id=${encodeURIComponent(hostile)}`)
    const list = await client.get(`${base}/approvals?view=decided`)
    const after = [refused, decided, list, await client.get(`${base}/audit`), log]
    const policy = await submitFormPairs(client, `${base}/policy`, [['change_minor_max', hostile]])
    for (const { text } of [...waiting, ...after, policy]) assertHarmless(text)
    const formCounts = waiting.map(({ text }) => text.match(/<form /g)?.length)
    assert.deepEqual(formCounts, [1, 2], 'signing out, and the decision')
  })
}

/** The only script: of this site, once. */
const OWN_SCRIPT = /<script type="module" src="\/assets\/[0-9a-f]{16}\.js"><\/script>/

/** Allows only our own elements, links and attributes, and no invisible characters. */
function assertHarmless(page: string): void {
  const text = page.replace(OWN_SCRIPT, '')
  for (const [, name = ''] of text.matchAll(/<\/?([a-zA-Z][^\s/>]*)/g)) {
    assert.match(name, ALLOWED_TAGS)
  }
  for (const [, target = ''] of text.matchAll(/(?:href|action|src)="([^"]*)"/g)) {
    assert.match(unescapeHtml(target), /^(\/(?!\/)|#|data:,$)/)
  }
  assert.doesNotMatch(text, /<[^>]*\son[a-z]+=/)
  // Invisible characters stay unchanged only in form fields.
  const shown = text.replaceAll(/<textarea[\s\S]*?<\/textarea>|value="[^"]*"/g, '')
  assert.doesNotMatch(
    shown,
    /&#x?(202e|8238);|[\u202A-\u202E\u2066-\u2069\u200B\u200F\u2060\uFEFF]/i,
  )
}
