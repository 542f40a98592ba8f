import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { setExecutionMode } from '../fixtures/agent-actions.ts'
import { createMcpFixture, type McpFixture } from '../fixtures/mcp.ts'
import { startTestService } from '../fixtures/service.ts'
import { findProgram, installPinnedPython, openToolchain } from '../toolchains.ts'

const STORY = join(import.meta.dirname, 'story.py')
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')

it('the official Python client proposes, and reads what a person approved', {
  timeout: 900_000,
}, async test => {
  const python = openToolchain(test, 'python', () =>
    installPinnedPython(findProgram('python'), REQUIREMENTS),
  )
  if (python === null) return
  const mcp = await createMcpFixture(await startTestService(test))
  await setExecutionMode(mcp.tokens, 'ask')
  const story = spawn(python, [STORY], {
    env: {
      PATH: process.env.PATH,
      PYTHONDONTWRITEBYTECODE: '1',
      SIGNALBOX_MCP_URL: `${mcp.service.url}/mcp`,
      SIGNALBOX_EXECUTION_TOKEN: mcp.tokens.execution,
    },
  })
  test.after(() => story.kill('SIGKILL'))
  const errors = text(story.stderr)
  const exited = once(story, 'exit')
  const lines: unknown[] = []
  for await (const line of createInterface(story.stdout)) {
    lines.push(JSON.parse(line))
    if (lines.length > 1) continue
    await approve(mcp, (lines[0] as { inbox_url: string }).inbox_url)
    story.stdin.end('decided\n')
  }
  assert.deepEqual(await exited, [0, null], await errors)
  const { result } = await mcp.request('tools/list')
  assert.deepEqual(lines[1], {
    tools: result.tools.map(({ name }: { name: string }) => name),
    prompts: ['weekly_review', 'explain_policy'],
    mode: 'ask',
    outcome: 'verified',
  })
})

async function approve({ tokens }: McpFixture, inboxUrl: string): Promise<void> {
  const { client } = tokens.workspace.owner
  const { pathname } = new URL(inboxUrl)
  const [, workspaceId, proposal] = /^\/w\/(\d+)\/approvals\/(\d+)$/.exec(pathname) ?? []
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/approvals/${proposal}/decision`
  const body = { decision: 'approve', reason: 'A cent is fine.' }
  const answer = await client.call('POST', path, { body })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
