import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createInstallation, runProgram } from '../../testing/fixtures/program.ts'

const MAIN = join(import.meta.dirname, 'main.ts')

const TOLD = `\
client 2, auto, MCP 2026-07-28, 14 tools: a cent more a day for a campaign: approved, carried out and verified
client 2, default, MCP 2025-11-25, 14 tools: another status for an ad: approved, carried out and verified
sdk 1, MCP 2025-11-25, 14 tools: a cent more a day for a campaign: rejected, and nothing changed
Every agent was connected, decided on and disconnected.
`

const REFUSED_REFRESH = /^\[mcp-sdk\] OAuth "invalid_grant" /

it('the page of the example shows what it prints', () => {
  assert.ok(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8').includes(TOLD))
})

it('every official client connects with one URL and an approval, and executes approved changes', async test => {
  const place = createInstallation(test)
  await place.startReady()
  const credentials = join(place.dataFolder, 'credentials.json')
  for (const time of ['first', 'second']) {
    const {
      code,
      stdout: log,
      stderr: terminal,
    } = await runProgram([MAIN, '--credentials', credentials])
    assert.deepEqual([log, code], [TOLD, 0], `${time}\n${terminal}`)
    // The new client reports by itself that the refresh token of a revoked connection is refused.
    for (const line of terminal.trim().split('\n')) assert.match(line, REFUSED_REFRESH)
  }
})

it('exits with 1 and one sentence when it cannot run', async () => {
  const wrong: [string[], RegExp][] = [
    [['--credentials', '/nowhere.json'], /^Cannot read credentials from \/nowhere\.json: .+\.\n$/],
    [['--fast'], /^Usage: node examples\/agent\/main\.ts .+\n$/],
  ]
  for (const [options, sentence] of wrong) {
    const { code, stdout: log, stderr: terminal } = await runProgram([MAIN, ...options])
    assert.deepEqual([code, log], [1, ''])
    assert.match(terminal, sentence)
  }
})
