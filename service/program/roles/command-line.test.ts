import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { startDatabaseProxy } from '../../../testing/crash/database-proxy.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'

// The help does not need valid settings.
const environment = { PORT: 'http' }

it('prints the commands for --help and exits with 0 under any settings', async () => {
  for (const list of [['--help'], ['-h'], ['help']]) {
    const { code, stdout, stderr } = await runCommand(list, { environment })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Usage: signalbox-server \[options\] \[command\]\n/)
    for (const name of ['all', 'serve', 'deliver', 'migrate', 'provision', 'key', 'people']) {
      assert.match(stdout, new RegExp(`^  ${name}\\b.* \\w+`, 'm'))
    }
    assert.match(stdout, /Settings are environment variables/)
  }
})

it('prints the help to standard error without a command, and exits with 1', async () => {
  const { code, stdout, stderr } = await runCommand([], { environment })
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^Usage: signalbox-server /)
})

it('prints the options of a command', async () => {
  for (const list of [
    ['key', 'issue', '--help'],
    ['key', 'help', 'issue'],
  ]) {
    const { code, stdout } = await runCommand(list, { environment })
    assert.equal(code, 0)
    assert.match(stdout, /^Usage: signalbox-server key issue \[options\]\n/)
    assert.match(stdout, /--kind <kind> +publishable, forwarding or secret/)
  }
  const { stdout } = await runCommand(['help', 'people'], { environment })
  assert.match(stdout, /disable \[options\] \[address\]/)
})

it('is the program that npm installs as signalbox-server', async test => {
  const program = createInstallation(test).start({ role: '--help', environment })
  assert.deepEqual(await program.exited, { code: 0, signal: null })
  assert.match(program.stdout(), /^Usage: signalbox-server /)
  assert.equal(program.stderr(), '')
})

it('prints no error when the reader of its output has ended', async test => {
  const { dataFolder } = createDataFolder(test)
  const program = join(import.meta.dirname, '../../main.ts')
  const env = { PATH: process.env.PATH, PORT: '0', SIGNALBOX_DATA_DIR: dataFolder }
  for (const command of ['--help', 'doctor']) {
    const script = `set -o pipefail; ${process.execPath} ${program} ${command} | true`
    const { stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], { env })
    assert.equal(stderr, '', command)
  }
})

it('ends in one sentence when PostgreSQL goes away after the first check', async test => {
  const { connectionString } = await createTestDatabase(test)
  const proxy = await startDatabaseProxy(test, connectionString)
  const { dataFolder } = createDataFolder(test)
  const out = join(dataFolder, 'events')
  const none = '00000000-0000-4000-8000-000000000000'
  for (const [line, statement] of [
    ['serve', 'pg_try_advisory_xact_lock_shared'],
    ['deliver', 'pg_inherits'],
    ['migrate', 'server_version_num'],
    [`export events --tracker ${none} --out ${out}`, 'from "trackers"'],
  ] as const) {
    const dropped = proxy.dropResponseTo(statement)
    const { code, stderr } = await runCommand(line.split(' '), {
      environment: {
        DATABASE_URL: proxy.connectionString,
        PORT: '0',
        SIGNALBOX_DATA_DIR: dataFolder,
        SIGNALBOX_HTTP_WORKERS: '0',
        SIGNALBOX_PLATFORM_URL: 'http://127.0.0.1:9',
      },
    })
    assert.equal(
      stderr,
      'PostgreSQL went away (Connection terminated unexpectedly): see that it runs, then start ' +
        'again.\n',
      line,
    )
    assert.equal(code, 1)
    await dropped
  }
})
