import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import {
  type AgentActionsFixture,
  approvalsPath,
  BUDGET_INCREASE,
  setExecutionMode,
  startAgentActionsFixture,
  submitSingleActionProposal,
  submitTestProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import {
  type FormPairs,
  formsOf,
  type PageClient,
  submitFormPairs,
} from '../../../testing/fixtures/page-client.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { applyExternalChange } from '../campaigns/simulated-account-store.ts'

const REASON = 'It was planned.'

it('approves one change and rejects the others, each with a reason', async test => {
  const fixture = await startAgentActionsFixture(test)
  await setExecutionMode(fixture, 'ask')
  const [path, ids] = await proposedThree(fixture)
  const { client } = fixture.workspace.owner
  const queue = await client.get(approvalsPath(fixture))
  assert.match(queue.text, /Proposal 1: 3 changes/)
  assert.match(queue.text, /€120\.00[\s\S]*€135\.00[\s\S]*\+€15\.00 \(\+12\.5%\)/)

  const first = await decide(client, path, [
    ['decision', 'approve'],
    ['action_ids', ids[0]],
  ])
  assert.deepEqual(first.redirects, [`${path}?done=approve`])
  assert.match(first.text, /Your decision is saved/)
  assert.match(first.text, /Verified/)
  assert.match(first.text, /Actual[\s\S]*€135\.00[\s\S]*€135\.00/)
  assert.match(first.text, /Decided [^<]* by <bdi>\w+@people\.example<\/bdi>/)
  assert.match(first.text, /Receipt: log entry \d+[\s\S]*<code>[0-9a-f]{64}<\/code>/)

  const [, second = '', third = ''] = ids
  const rest = await decide(client, path, [
    ['decision', 'reject'],
    ...[second, third].map(id => ['action_ids', id] as [string, string]),
  ])
  assert.equal(rest.text.match(/<span class="tag">Rejected<\/span>/g)?.length, 2)
  assert.doesNotMatch(rest.text, /name="reason"/)
  assert.match((await client.get(approvalsPath(fixture))).text, /No pending approvals/)
})

it('returns 422 with the submitted form and links to invalid fields', async test => {
  const fixture = await startAgentActionsFixture(test)
  const [path, ids] = await proposedThree(fixture)
  const { client } = fixture.workspace.owner
  const [one = '', two = ''] = ids
  const long = 'x'.repeat(1_001)
  for (const [fields, sentence, anchor] of [
    [
      [
        ['decision', 'approve'],
        ['action_ids', one],
        ['reason', '  '],
      ],
      /Enter a reason/,
      'reason',
    ],
    [
      [
        ['decision', 'approve'],
        ['action_ids', one],
        ['reason', long],
      ],
      /too long/,
      'reason',
    ],
    [[['decision', 'approve']], /Choose at least one change/, 'action_ids'],
    [
      [
        ['decision', 'reject'],
        ['action_ids', '999999'],
      ],
      /no action with this id/,
      'action_ids',
    ],
    [[['action_ids', one]], /Choose: approve or reject/, null],
  ] as [Pairs, RegExp, string | null][]) {
    const page = await decide(client, path, fields)
    assert.equal(page.status, 422, page.text)
    assert.match(page.text, sentence)
    if (anchor) assert.match(page.text, new RegExp(`href="#${anchor}"[\\s\\S]*id="${anchor}"`))
  }
  const fields: Pairs = [
    ['decision', 'x'],
    ['action_ids', one],
    ['action_ids', two],
  ]
  const kept = await decide(client, path, [...fields, ['reason', `${REASON}\n"<b>`]])
  assert.match(kept.text, />\nIt was planned\.\n&#34;&#60;b&#62;<\/textarea>/)
  assert.equal(kept.text.match(/type="checkbox"[^>]* checked/g)?.length, 2)
  assert.match((await client.get(approvalsPath(fixture))).text, /3 changes/)
})

it('counts a line break as one character of the reason', async test => {
  const fixture = await startAgentActionsFixture(test)
  const [path, [id = '']] = await proposedThree(fixture)
  const reason = `${'x'.repeat(499)}\r\n${'y'.repeat(500)}`
  const fields: Pairs = [
    ['decision', 'reject'],
    ['action_ids', id],
    ['reason', reason],
  ]
  const page = await decide(fixture.workspace.owner.client, path, fields)
  assert.equal(page.status, 200)
})

it('returns 409 with the decision of the other person', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  const second = await signInAs(fixture, 'admin', 'Grace Example')
  await second.get(path)
  const { client } = fixture.workspace.owner
  await client.get(path)
  await client.submit({ action: path, fields: { reason: REASON }, button: ['decision', 'reject'] })
  const late = await second.submit({
    action: path,
    fields: { reason: 'I think so too.' },
    button: ['decision', 'approve'],
  })
  assert.equal(late.status, 409)
  assert.match(late.text, /Your decision was not saved/)
  assert.match(late.text, /Your reason:[\s\S]*I think so too\./)
  assert.match(late.text, /Results[\s\S]*Rejected[\s\S]*by <bdi>\w+@people\.example<\/bdi>/)
  assert.match(late.text, new RegExp(REASON))
})

it('shows a member disabled buttons with the reason', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  const member = await signInAs(fixture, 'member')
  const page = await member.get(path)
  assert.match(page.text, /<fieldset id="action_ids"[^>]* disabled>/)
  assert.match(page.text, /Only owners and admins can decide; ask one of them\./)
  assert.equal(
    page.text.match(/<button form="decision" name="decision"[^>]* disabled>/g)?.length,
    2,
  )
  const sent = await decide(member, path, [
    ['decision', 'reject'],
    ['action_ids', '1'],
  ])
  assert.equal(sent.status, 403)
  assert.match(sent.text, /Your decision was not saved[\s\S]*Your role/)
  assert.match((await member.get(approvalsPath(fixture))).text, /one change[\s\S]*Review</)
})

it('lets the proposer reject but not approve if there is another owner', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  await signInAs(fixture, 'owner')
  const { client } = fixture.workspace.owner
  const page = await client.get(path)
  assert.match(page.text, /value="approve"[^>]* disabled>/)
  assert.doesNotMatch(page.text, /value="reject"[^>]* disabled>/)
  assert.match(page.text, /You cannot approve a proposal of your own credential/)
  const sent = await decide(client, path, [
    ['decision', 'approve'],
    ['action_ids', '1'],
  ])
  assert.equal(sent.status, 403)
  assert.match(sent.text, new RegExp(REASON))
  const rejected = await decide(client, path, [
    ['decision', 'reject'],
    ['action_ids', '1'],
  ])
  assert.match(rejected.text, /tag">Rejected/)
})

it('warns about a stale entity, and rejects the change on approval', async test => {
  const fixture = await startAgentActionsFixture(test)
  await setExecutionMode(fixture, 'ask')
  const path = await submitSingleActionProposal(fixture)
  const { service, workspace } = fixture
  const place = { adAccountId: workspace.adAccountId, type: 'campaign', id: fixture.entityId(1) }
  const at = service.clock.now()
  await applyExternalChange(service.database, place as never, { at, dailyBudgetMinor: 9_000 })
  const { client } = workspace.owner
  assert.match((await client.get(approvalsPath(fixture))).text, /The entity was changed elsewhere/)
  assert.match((await client.get(path)).text, /The entity was changed elsewhere/)
  const after = await decide(client, path, [
    ['decision', 'approve'],
    ['action_ids', '1'],
  ])
  assert.match(after.text, /Rejected<\/span> Nothing was changed\. The entity was changed/)
})

it('allows only rejection after 72 hours', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  const { client } = fixture.workspace.owner
  fixture.service.clock.advance(71 * HOUR_SECONDS)
  assert.match((await client.get(path)).text, /60 minutes left/)
  fixture.service.clock.advance(HOUR_SECONDS)
  const page = await client.get(path)
  assert.match(page.text, /Expired/)
  assert.match(page.text, /value="approve"[^>]* disabled>/)
})

type Pairs = FormPairs

/** Adds a reason unless the fields have one. */
function decide(client: PageClient, path: string, pairs: Pairs) {
  const given = pairs.some(([name]) => name === 'reason')
  return submitFormPairs(client, path, given ? pairs : [...pairs, ['reason', REASON]])
}

/** The path of the page, and the action IDs of its form. */
async function proposedThree(
  fixture: AgentActionsFixture,
): Promise<[string, [string, ...string[]]]> {
  const target = (position: number) => ({ type: 'campaign', id: fixture.entityId(position) })
  const path = await submitTestProposal(fixture, [
    { ...BUDGET_INCREASE, target_entity: target(1) },
    { type: 'pause', params: {}, target_entity: target(2), rationale: 'It does not sell.' },
    { type: 'resume', params: {}, target_entity: target(3), rationale: 'It is summer.' },
  ])
  const { text } = await fixture.workspace.owner.client.get(path)
  assert.equal(formsOf(text).length, 2)
  const boxes = text.matchAll(/type="checkbox" name="action_ids" value="(\d+)" checked/g)
  const ids = [...boxes].map(([, id = '']) => id)
  assert.equal(ids.length, 3)
  return [path, ids as [string, ...string[]]]
}

async function signInAs(
  { service, workspace }: AgentActionsFixture,
  role: WorkspaceRole,
  name = 'Grace Example',
): Promise<PageClient> {
  const email = `${role}@people.example`
  const { userId, client } = await createTestUser(service, { email, name })
  await addMember(service, { workspaceId: workspace.workspaceId, userId, role })
  return client
}
