import assert from 'node:assert/strict'
import { it } from 'node:test'
import { warnOfBundledPostgres } from './run-all.ts'

const EMBEDDED = { version: '18.4' }

function warningsOf(
  settings: { publicOrigin?: string; postgresBinariesFolder?: string },
  embedded: typeof EMBEDDED | null = EMBEDDED,
): string[] {
  const warnings: string[] = []
  const logger = { warn: (_view: object, message: string) => void warnings.push(message) }
  const { publicOrigin, postgresBinariesFolder } = settings
  warnOfBundledPostgres(
    { settings: { publicOrigin, postgresBinariesFolder }, logger: logger as never },
    { embedded },
  )
  return warnings
}

it('warns when the PostgreSQL from npm serves a public origin', () => {
  for (const publicOrigin of ['https://events.example.com', 'http://192.0.2.7:3000']) {
    const [warning, ...others] = warningsOf({ publicOrigin })
    assert.match(warning ?? '', /set DATABASE_URL, or SIGNALBOX_POSTGRES_BIN to a maintained/)
    assert.deepEqual(others, [])
  }
})

it('does not warn on this machine, nor about another PostgreSQL', () => {
  for (const publicOrigin of ['http://localhost:3000', 'http://127.0.0.1', 'http://[::1]:3000']) {
    assert.deepEqual(warningsOf({ publicOrigin }), [])
  }
  assert.deepEqual(warningsOf({}), [])
  const publicOrigin = 'https://events.example.com'
  assert.deepEqual(warningsOf({ publicOrigin, postgresBinariesFolder: '/usr/bin' }), [])
  assert.deepEqual(warningsOf({ publicOrigin }, null), [])
})
