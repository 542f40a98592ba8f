import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseAuditCommand } from './audit-command.ts'

it('reads what is asked', () => {
  assert.deepEqual(parseAuditCommand(['verify']), {
    task: 'verify',
    workspaceId: null,
    headPath: null,
  })
  assert.deepEqual(parseAuditCommand(['verify', '--workspace', '7', '--head', 'log.ndjson']), {
    task: 'verify',
    workspaceId: 7,
    headPath: 'log.ndjson',
  })
  assert.deepEqual(parseAuditCommand(['export', '--workspace', '7']), {
    task: 'export',
    workspaceId: 7,
    path: null,
  })
  assert.deepEqual(parseAuditCommand(['export', '--workspace', '7', '--out', 'log.ndjson']), {
    task: 'export',
    workspaceId: 7,
    path: 'log.ndjson',
  })
})

it('says how it is used to everything else', () => {
  for (const list of [
    [],
    ['show'],
    ['export'],
    ['export', '--workspace', 'x'],
    ['export', '--workspace', '7', '--head', 'x'],
    ['verify', '--out', 'x'],
    ['verify', '--workspace', '0'],
    ['verify', '7'],
    ['verify', '--all'],
  ]) {
    assert.throws(() => parseAuditCommand(list), /^StartError: Usage: npm run audit -- verify/)
  }
})
