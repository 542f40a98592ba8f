import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { openApproval, submitDecision } from '../../../testing/fixtures/oauth.ts'
import { spawnProgram } from '../../../testing/fixtures/program.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const PACKAGE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
const TOOL = join(import.meta.dirname, '../../..', PACKAGE)

it('passes the official suite for authorization servers', async test => {
  const service = await startTestService(test)
  const { owner, adAccountId } = await createTestWorkspace(service)
  const port = await findFreePort()
  const redirectUri = `http://127.0.0.1:${port}/callback`
  const registration = await service.request('POST', '/oauth/register', {
    secret: null,
    body: { client_name: 'Conformance', redirect_uris: [redirectUri] },
  })
  const tool = spawnProgram([
    ...[TOOL, 'authorization', '--url', service.url, '--port', String(port)],
    ...['--client-id', registration.body.client_id, '--resource', `${service.url}/mcp`],
  ])
  test.after(() => tool.kill('SIGKILL'))
  const asked = /^(http\S+\/oauth2\/authorize\?\S+)$/m
  await waitUntil('the suite asks for approval', () => asked.test(tool.stdout()))
  const url = new URL(asked.exec(tool.stdout())?.[1] ?? '')
  await openApproval(owner.client, url)
  const choice = { ad_account_id: String(adAccountId), decision: 'approve' }
  const callback = await submitDecision(owner.client, choice)
  await fetch(callback)
  const { code } = await tool.exited
  assert.equal(code, 0, tool.stdout() + tool.stderr())
  assert.match(tool.stdout(), /^✓ authorization-server-metadata-endpoint: 2 passed, 0 failed/m)
  assert.match(tool.stdout(), /^✓ authorization-code-grant: 1 passed, 0 failed/m)
})
