import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { sendDecision, setExecutionMode } from '../../testing/fixtures/agent-actions.ts'
import { buildProposal } from '../../testing/fixtures/agents.ts'
import { createMcpFixture, type McpFixture } from '../../testing/fixtures/mcp.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { findProgram, openToolchain, runTool } from '../../testing/toolchains.ts'

const REASON = 'A cent is fine.'

interface Verifier {
  /** The exit code and what was printed. */
  verify(text: string, keys?: string): { status: number | null; output: string }
  exported: string
  keys: string
}

/** A real export of a workspace with a rejected, an executed and a blocked action. */
async function startVerifier(test: TestContext): Promise<Verifier | null> {
  const go = openToolchain(test, 'go', () => findProgram('go'))
  if (go === null) return null
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-verify-audit-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'verify-audit')
  runTool([go, 'build', '-o', program, '.'], import.meta.dirname)
  const mcp = await createMcpFixture(await startTestService(test))
  await setExecutionMode(mcp.tokens, 'ask')
  await mcp.callTool('get_account_state')
  await decide(
    mcp,
    buildProposal({ type: 'increase_budget', entity: 1, budgetMinor: 10_001 }),
    'approve',
  )
  await decide(mcp, buildProposal({ type: 'pause', entity: 3 }), 'reject')
  await mcp.callTool('propose-actions', buildProposal({ type: 'resume', entity: 3 }))
  const { client } = mcp.tokens.workspace.owner
  const path = `/workspaces/${mcp.tokens.workspace.workspaceId}/audit/export`
  const { text: exported } = await client.get(path)
  const { text: keys } = await mcp.service.request('GET', '/.well-known/jwks.json', {
    secret: null,
  })
  return {
    exported,
    keys,
    verify(text, keySet = keys) {
      const [exportPath, keysPath] = [join(folder, 'export.ndjson'), join(folder, 'jwks.json')]
      writeFileSync(exportPath, text)
      writeFileSync(keysPath, keySet)
      const { status, stdout, stderr } = spawnSync(program, [exportPath, keysPath], {
        encoding: 'utf8',
      })
      return { status, output: stdout + stderr }
    },
  }
}

async function decide(mcp: McpFixture, body: object, decision: string): Promise<void> {
  const { content } = await mcp.callTool('propose-actions', body)
  const { pathname } = new URL(content.proposal.inbox_url)
  const { client } = mcp.tokens.workspace.owner
  const { status } = await sendDecision(client, pathname, { decision, reason: REASON })
  assert.equal(status, 200)
}

it('an outsider verifies an export in Go, and finds every changed byte', {
  timeout: 900_000,
}, async test => {
  const verifier = await startVerifier(test)
  if (!verifier) return
  const { exported, keys, verify } = verifier
  const intact = verify(exported)
  assert.equal(intact.status, 0, intact.output)
  assert.match(intact.output, /^\d+ entries and 3 receipts are intact, and the head is signed\.\n$/)

  const lines = exported.trimEnd().split('\n')
  const changes = lines.flatMap(line => JSON.parse(line).receipts ?? []).map(({ change }) => change)
  const executed = changes.find(({ status }) => status === 'verified')
  assert.deepEqual(executed.target_entity, { type: 'campaign', id: '901', name: null })
  assert.deepEqual(
    [executed.before.daily_budget_minor, executed.after.daily_budget_minor],
    [10_000, 10_001],
  )
  assert.equal(executed.decision.reason, REASON)
  assert.equal(changes.find(({ status }) => status === 'rejected').decision.reason, REASON)
  assert.equal(JSON.parse(lines.at(-1) ?? '').canonical_form, 'RFC 8785')

  // A prime step reaches every kind of member without running for an hour.
  const bytes = Buffer.from(exported)
  for (let at = 0; at < bytes.length - 1; at += 97) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 1
    const { status, output } = verify(changed.toString('latin1'))
    assert.equal(status, 1, `byte ${at}: ${bytes.subarray(at - 30, at + 30)}: ${output}`)
  }
  for (const [index] of lines.entries()) {
    assert.equal(verify(`${lines.toSpliced(index, 1).join('\n')}\n`).status, 1, `without ${index}`)
  }
  assert.match(verify(`${exported}${lines[0]}\n`).output, /a line follows the head/)
  const others = JSON.parse(keys)
  others.keys[0].x = Buffer.alloc(32, 7).toString('base64url')
  for (const keySet of [JSON.stringify(others), '{"keys":[]}', '{}']) {
    assert.match(verify(exported, keySet).output, /no key of the key set signed the head/)
  }
})
