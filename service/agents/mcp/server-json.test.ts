import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { Ajv } from 'ajv'
import { RESOURCES } from '../../workspaces/oauth/permissions.ts'
import { MCP_SERVER_VERSION } from './routes.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const VECTORS = join(import.meta.dirname, 'vectors')

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const server = read(join(ROOT, 'deploy/mcp/server.json'))

/** The published schema (vectors/SOURCE.md), whose only format is `uri`. */
function registryCheck() {
  const schema = read(join(VECTORS, 'server-schema-2025-12-11.json'))
  const ajv = new Ajv({ strict: false, allErrors: true, formats: { uri: URL.canParse } })
  return { check: ajv.compile(schema), id: schema.$id }
}

it('is valid against the schema of the MCP registry', () => {
  const { check, id } = registryCheck()
  assert.equal(server.$schema, id)
  assert.ok(check(server), JSON.stringify(check.errors))
})

it('rejects invalid documents', () => {
  const { check } = registryCheck()
  for (const change of [
    { name: 'signalbox' },
    { description: 'x'.repeat(101) },
    { version: undefined },
    { remotes: [{ type: 'streamable-http', url: '{mcp_url}' }] },
    { remotes: [{ type: 'http', url: 'https://a.example' }] },
  ]) {
    const other = JSON.parse(JSON.stringify({ ...server, ...change }))
    assert.equal(check(other), false, JSON.stringify(change))
  }
})

it('contains the server version and the documentation URL', () => {
  assert.equal(server.version, MCP_SERVER_VERSION)
  const [remote] = server.remotes
  const { placeholder } = remote.variables.mcp_url
  const url = remote.url.replace('{mcp_url}', placeholder)
  assert.equal(new URL(url).pathname, RESOURCES.mcp.path)
})
