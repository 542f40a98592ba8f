import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'

const root = join(import.meta.dirname, '..', '..')

/** Runs the command with a registry that gives this answer to every request. */
async function runWith(test: TestContext, status: number, body: object) {
  const registry = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' })
      const isAudit = request.method === 'POST'
      // npm asks which versions exist of a package that has an advisory.
      const name = decodeURIComponent(request.url?.slice(1) ?? '')
      response.end(JSON.stringify(isAudit ? body : { name, versions: {} }))
    })
  })
  await new Promise<void>(resolve => registry.listen(0, '127.0.0.1', resolve))
  test.after(() => registry.close())
  const { port } = registry.address() as AddressInfo
  const options = [`--registry=http://127.0.0.1:${port}`, '--fetch-retries=0']
  const script = 'testing/supply-chain/check-advisories.ts'
  return new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
    execFile(process.execPath, [script, ...options], { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

it('says that nothing was checked when the registry does not answer audits', async test => {
  const { code, stderr, stdout } = await runWith(test, 405, { message: 'Method Not Allowed' })
  assert.equal(code, 2)
  assert.match(stderr, /^The registry does not answer audits, so nothing was checked \(.*405/)
  assert.equal(stdout, '')
})

it('reports an advisory of the registry with exit code 1, and none with 0', async test => {
  const advisory = {
    id: 1,
    url: 'https://advisories.example/1',
    title: 'A bug',
    severity: 'high',
    vulnerable_versions: '*',
    cwe: [],
    cvss: { score: 8, vectorString: null },
  }
  const found = await runWith(test, 200, { kysely: [advisory] })
  assert.equal(found.code, 1, found.stderr)
  assert.match(found.stdout, /A bug/)
  const clean = await runWith(test, 200, {})
  assert.equal(clean.code, 0, clean.stderr)
  assert.match(clean.stdout, /found 0 vulnerabilities/)
})
