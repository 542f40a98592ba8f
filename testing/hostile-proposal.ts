import assert from 'node:assert/strict'
import { type ActionsUnderTest, proposalOf } from './actions-under-test.ts'

/** What an agent, or whoever names campaigns, may write to mislead people and programs. */
export const HOSTILE_TEXTS: Record<string, string> = {
  markup: `</td></blockquote><img src=x onerror="alert('x')"><script>alert(1)</script>`,
  attribute: `" autofocus onfocus="alert(1)" x='`,
  link: 'javascript:alert(1) <a href="javascript:alert(1)">Approve</a> [here](javascript:alert(1))',
  direction: 'Budget \u202E00.5€ ot\u202C \u2066isolated\u2069 \u200Fmark',
  hidden: 'Ig\u200Bnore\u2060 \u{E0041}\u{E0042}this\u0007\uFEFF',
  long: 'W'.repeat(250),
  lines: `first${'\r\n'.repeat(40)}second`,
  form: '</textarea></form><form action="https://evil.example"><button>Approve</button>',
  template: '{{7*7}} <%= 1 %> #{1} &lt;b&gt; &#60;b&#62;',
  entity: '&#x202E;&lt;img src=x&gt;',
}

/**
 * A proposal in which everything that others write is this text: names of agent, person, ad account
 * and campaign, rationales, evidence. Returns the path of its page.
 */
export async function hostileProposal(under: ActionsUnderTest, text: string): Promise<string> {
  const { database } = under.service
  const { owner, adAccountId } = under.workspace
  const set = (statement: string, id: number) => database.pool.query(statement, [text, id])
  await set('update people.users set name = $1 where id = $2', owner.userId)
  await set('update ad_accounts set name = $1 where id = $2', adAccountId)
  await set('update ad_entities set name = $1 where ad_account_id = $2', adAccountId)
  await set('update execution_tokens set name = $1 where ad_account_id = $2', adAccountId)
  const target = (position: number) => ({
    type: 'campaign',
    id: under.entityId(position),
    name: `x ${text}`.slice(0, 255),
  })
  const actions = [
    {
      type: 'increase_budget',
      params: { new_daily_budget_minor: 13_500 },
      target_entity: target(1),
      rationale: `one ${text}`,
    },
    { type: 'pause', params: {}, target_entity: target(2), rationale: `two ${text}` },
  ]
  const evidence = [{ source_tool: 'get_performance', fields_used: [text.slice(0, 200)] }]
  const body = proposalOf('1', { actions, rationale: text, evidence })
  const reply = await under.ask('POST', '/actions', { body })
  assert.equal(reply.status, 201, reply.text)
  return new URL(reply.body.proposal.inbox_url).pathname
}
