import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { AUDIT_ACTIONS } from '@signalbox/contract/agents/audit-actions.ts'
import { createAuditFixture, sampleEntry } from '../../testing/fixtures/audit.ts'
import { createLogger } from '../runtime/http/logger.ts'
import { commitAudited, createAuditTrail } from './audit-store.ts'

const service = join(import.meta.dirname, '..')

/** The source files of the service without tests, by path. */
const SOURCES = new Map(
  globSync('**/*.ts', { cwd: service })
    .filter(path => !path.endsWith('.test.ts'))
    .map(path => [path, readFileSync(join(service, path), 'utf8')]),
)

/**
 * What agents propose and what happens to it is appended by two functions inside of longer
 * transactions, and told by other means: pages, webhooks and email.
 */
const UNLOGGED_ACTIONS = /^(proposal|action)\./
const APPENDING_FILES = [
  'agents/proposals/propose-actions.ts',
  'agents/proposals/transition-action.ts',
  'audit/audit-store.ts',
]

it('commits every entry with its log line, except those of proposals and actions', () => {
  const appending = [...SOURCES].filter(([, text]) => /\baudit\.append\(/.test(text))
  assert.deepEqual(appending.map(([path]) => path).sort(), APPENDING_FILES)
  for (const action of AUDIT_ACTIONS.filter(name => !UNLOGGED_ACTIONS.test(name))) {
    const files = [...SOURCES].filter(([, text]) => text.includes(`'${action}'`))
    const logged = files.filter(([, text]) => text.includes('commitAudited'))
    assert.ok(logged.length > 0, `no file commits ${action} by commitAudited`)
  }
})

it('writes a line for each committed entry, in the order of the workspaces', async test => {
  const { database, keys, workspaceId, newWorkspace } = await createAuditFixture(test)
  const other = await newWorkspace()
  const lines: string[] = []
  const logger = createLogger('info', { write: line => void lines.push(line) })
  const context = { database, audit: createAuditTrail(keys, logger) }
  await commitAudited(context, async (_, record) => {
    record(sampleEntry(other, 1))
    record(sampleEntry(workspaceId, 1))
  })
  assert.deepEqual(
    lines.map(line => JSON.parse(line)).map(line => [line.workspace_id, line.sequence, line.msg]),
    [
      [workspaceId, 1, 'audit entry'],
      [other, 1, 'audit entry'],
    ],
  )
})

it('writes no line when the change is rolled back', async test => {
  const { database, keys, workspaceId } = await createAuditFixture(test)
  const lines: string[] = []
  const logger = createLogger('info', { write: line => void lines.push(line) })
  const context = { database, audit: createAuditTrail(keys, logger) }
  const change = commitAudited(context, async (_, record) => {
    record(sampleEntry(workspaceId, 1))
    throw new Error('this change fails')
  })
  await assert.rejects(change, /this change fails/)
  assert.deepEqual(lines, [])
})
