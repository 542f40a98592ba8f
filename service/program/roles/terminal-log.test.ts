import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { hasPseudoTerminal, startOnTerminal } from '../../../testing/fixtures/pseudo-terminal.ts'

const MAIN = join(import.meta.dirname, '../../main.ts')
const skip = hasPseudoTerminal() ? false : 'python3 with the module pty is not installed'

/** Runs `serve` on a pseudo-terminal until Ctrl-C and returns what the terminal showed. */
async function serveOnTerminal(
  test: TestContext,
  environment: Record<string, string> = {},
): Promise<string> {
  const { connectionString } = await createTestDatabase(test)
  const dataFolder = mkdtempSync(join(tmpdir(), 'signalbox-terminal-'))
  test.after(() => rmSync(dataFolder, { recursive: true, force: true }))
  const program = startOnTerminal(test, [MAIN, 'serve'], {
    DATABASE_URL: connectionString,
    SIGNALBOX_DATA_DIR: dataFolder,
    SIGNALBOX_HTTP_WORKERS: '1',
    PORT: '0',
    ...environment,
  })
  await program.waitForOutput(/Signalbox serves at/)
  assert.deepEqual(await program.interrupt(), { code: 0, signal: null }, program.output())
  return program.output()
}

it('writes readable log lines in color to a terminal', { skip }, async test => {
  const text = await serveOnTerminal(test)
  const plain = stripVTControlCharacters(text)
  assert.notEqual(plain, text, 'in color')
  assert.match(plain, /^\[\d\d:\d\d:\d\d\] INFO: /m)
  assert.doesNotMatch(plain, /^\{/m)
})

it('writes JSON to a terminal with LOG_FORMAT=json', { skip }, async test => {
  const text = await serveOnTerminal(test, { LOG_FORMAT: 'json' })
  const lines = text.split('\r\n').filter(line => line.startsWith('{'))
  assert.ok(lines.length > 0, text)
  for (const line of lines) assert.equal(typeof JSON.parse(line).level, 'string')
  assert.doesNotMatch(stripVTControlCharacters(text), /^\[\d\d:\d\d:\d\d\]/m)
})
