import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ACTION_STATUSES } from '@signalbox/contract/agents/actions.ts'
import { createMcpFixture } from '../../../testing/fixtures/mcp.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { AGENT_TOOLS } from './routes.ts'

interface ListedPrompt {
  name: string
  arguments?: { name: string; required?: boolean }[]
}

it('lists prompts with their arguments, and renders them', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  const { result } = await mcp.request('prompts/list')
  assert.deepEqual(
    result.prompts.map(({ name, arguments: given = [] }: ListedPrompt) => [
      name,
      given.map(argument => argument.name),
      given.some(({ required }) => required === true),
    ]),
    [
      ['weekly_review', ['days', 'focus'], false],
      ['explain_policy', [], false],
    ],
  )
  const render = async (name: string, given?: object) => {
    const { result, error } = await mcp.request('prompts/get', { name, arguments: given })
    return { text: result?.messages[0].content.text ?? '', error }
  }
  const { text } = await render('weekly_review', { days: '14', focus: 'Winter coats' })
  assert.match(text, /^Review my ad account over the last 14 days\.\n1\. Call get_account_state/)
  assert.match(text, /Look at this in particular: Winter coats$/)
  assert.match((await render('weekly_review', {})).text, /over the last 7 days/)
  const names = new Set(AGENT_TOOLS.map(({ name }) => name))
  for (const rendered of [text, (await render('explain_policy', {})).text]) {
    const named = rendered.match(/\b(get|list|dry_run|propose)[_-][a-z_]+\b/g) ?? []
    assert.ok(named.length > 0)
    for (const name of named) assert.ok(names.has(name), name)
  }
  for (const given of [{ days: '0' }, { days: '91' }, { days: 'x' }, { focus: 'x'.repeat(301) }]) {
    const { error } = await render('weekly_review', given)
    assert.equal(error.code, -32_602, JSON.stringify(given))
    assert.match(error.message, /The (days|focus) argument must/)
  }
  assert.equal((await render('drop_tables')).error.code, -32_602)
})

it('reads the policy of the workspace and how proposals work as resources', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  const { result } = await mcp.request('resources/list')
  const listed = result.resources.map(({ uri, mimeType }: never) => [uri, mimeType])
  assert.deepEqual(listed, [
    ['signalbox://policy', 'application/json'],
    ['signalbox://proposals', 'text/markdown'],
  ])
  const read = (uri: string) => mcp.request('resources/read', { uri })
  const policy = JSON.parse((await read('signalbox://policy')).result.contents[0].text)
  assert.equal(policy.policy.execution_mode, 'suggest_only')
  assert.match(policy.currency, /^[A-Z]{3}$/)
  const { text } = (await read('signalbox://proposals')).result.contents[0]
  for (const status of ACTION_STATUSES) assert.ok(text.includes(status), status)
  const unknown = await read('signalbox://people')
  assert.ok([-32_602, -32_002].includes(unknown.error.code), JSON.stringify(unknown.error))
})

it('logs an internal error of a resource and returns a generic message', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  await mcp.service.database.pool.query('alter table agent_policies rename to gone')
  const { error } = await mcp.request('resources/read', { uri: 'signalbox://policy' })
  assert.match(error.message, /on our side; req_\w+ helps us find it/)
  assert.equal(JSON.stringify(error).includes('agent_policies'), false)
  assert.match(mcp.service.logged(), /read failed/)
})
