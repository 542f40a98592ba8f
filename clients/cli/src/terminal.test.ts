import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { hasPseudoTerminal, startOnTerminal } from '../../../testing/fixtures/pseudo-terminal.ts'
import { startCli } from '../testing/run-command.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const skip = hasPseudoTerminal() ? false : 'python3 is not on PATH'
const FILL = ['--name', 'Lead', '--consent-basis', 'consent']

it('prints colors and a progress bar on a terminal', { skip }, async test => {
  const fixture = await startCli(test)
  const { folder } = fixture
  const environment = { ...fixture.environment, TERM: 'xterm' }
  const path = join(folder, 'leads.ndjson')
  writeFileSync(path, '{}\n'.repeat(300))
  const command = [MAIN, 'events', 'create', '--file', path, ...FILL]
  const colored = startOnTerminal(test, command, environment)
  await colored.waitForOutput(/✓.* 300 stored/)
  assert.ok(colored.output().includes('Sending \u001b[32m'))
  assert.match(colored.output(), /█*░+/)
  const plain = startOnTerminal(test, command, { ...environment, NO_COLOR: '1' })
  await plain.waitForOutput(/= 300 were stored before/)
  assert.ok(!plain.output().includes('\u001b[3'))
})

it('asks before it erases on a terminal, and Ctrl-C ends it', { skip }, async test => {
  const { environment } = await startCli(test)
  const command = [MAIN, 'user-data', 'delete', '--email', 'ada@example.com']
  const program = startOnTerminal(test, command, environment)
  await program.waitForOutput(/Erase everything of the person .+ \[y\/N\]/)
  assert.equal((await program.interrupt()).code, 130)
})

it('prints only data into a pipe, and ends when its reader does', async test => {
  const { environment, folder, run } = await startCli(test)
  const path = join(folder, 'leads.ndjson')
  writeFileSync(path, '{}\n'.repeat(150))
  await run(['events', 'create', '--file', path, ...FILL])
  const shell = async (script: string) => {
    const SIGNALBOX = `${process.execPath} ${MAIN}`
    const env = { ...environment, PATH: process.env.PATH, SIGNALBOX }
    return promisify(execFile)('bash', ['-c', `set -o pipefail; ${script}`], { env })
  }
  const all = await shell('$SIGNALBOX events list --all --json')
  assert.equal(
    all.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)).length,
    150,
  )
  assert.equal(all.stderr, '')
  const first = await shell('$SIGNALBOX events list --all --json | head -n 1')
  assert.equal(first.stdout.split('\n').length, 2)
  assert.equal(first.stderr, '')
})

it('runs every command of README.md', async test => {
  const { service, folder, run } = await startCli(test)
  writeFileSync(join(folder, 'orders.csv'), 'order_id,total,time\n1,19.90,2026-11-21T11:00:00Z\n')
  const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const commands = [...readme.matchAll(/^\$ npx signalbox (.+)$/gm)].map(([, words = '']) => words)
  assert.equal(commands.length, 8)
  for (const words of commands) {
    const argumentList = words
      .replace('https://events.example', service.url)
      .replace('orders.csv', join(folder, 'orders.csv'))
      .split(' ')
    const input = words.startsWith('auth') ? service.tracker.trackerSecret : ''
    const { code, stderr } = await run(argumentList, { input })
    // The clock of the service stands still, hours away from that of its HTTP server.
    assert.equal(code, words === 'doctor' ? 1 : 0, `${words}: ${stderr}`)
  }
})
