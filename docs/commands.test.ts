import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, isAbsolute, join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { formatStartSummary } from '../service/program/roles/run-all.ts'
import { runCommand } from '../testing/fixtures/command-line.ts'
import { createDatabaseFromTemplate, TEMPLATE_DATABASE } from '../testing/fixtures/database.ts'
import { readShellBlocks } from '../testing/fixtures/page-blocks.ts'
import { createInstallation, runProgram } from '../testing/fixtures/program.ts'
import { TESTED, type TestedBlock, UNTESTED } from './command-blocks.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const EXAMPLE_SUMMARY = {
  origin: 'http://127.0.0.1:3000',
  store: 'embedded PostgreSQL',
  platform: 'simulator',
  metricsUrl: 'http://127.0.0.1:3002/metrics',
  outboxFolder: '/outbox',
  credentialsPath: null,
}

it('every sh block of a page is run here, or listed with the reason why not', () => {
  const known = [...TESTED, ...UNTESTED]
  const blocks = findBlocks()
  assert.ok(blocks.length > 30)
  const unknown = blocks.filter(block => known.filter(isEntryOf(block)).length !== 1)
  assert.deepEqual(unknown, [])
  const gone = known.filter(entry => blocks.filter(block => isEntryOf(block)(entry)).length !== 1)
  assert.deepEqual(gone, [])
  for (const { coveredBy } of UNTESTED) {
    const [path] = /\S+\.test\.ts/.exec(coveredBy) ?? []
    if (path) assert.ok(existsSync(join(root, path)), `${path} is missing`)
  }
})

it('the commands of the pages work on a service that was just started', async test => {
  const shell = await startShell(test)
  const blocks = findBlocks()
  const failures: string[] = []
  for (const tested of TESTED) {
    const script = blocks.find(block => isEntryOf(block)(tested))?.script ?? ''
    const { code, output } = await shell.run(script, tested)
    if (code === 0 && tested.expected.test(output)) continue
    failures.push(`${tested.page}, exit code ${code}:\n${script}\n${output}`)
  }
  assert.deepEqual(failures, [])
})

it('every program of a checkout is started by npm or npx, which find the pinned Node', () => {
  const started = findBlocks().filter(({ script }) => /^ *node \S+\.ts/m.test(script))
  assert.deepEqual(started, [])
})

it('the README shows the banner of the start', () => {
  const labels = /(?<=^Signalbox is ready at .*\n\n)(?: {2}.*\n)+/m.exec(read('README.md'))?.[0]
  const shown = labels?.match(/(?<=^ {2})\S+(?: \S+)*?(?= {2})/gm) ?? []
  const summary = formatStartSummary({ ...EXAMPLE_SUMMARY, at: new Date(), given: [] })
  assert.deepEqual(shown, summary.match(/(?<=^ {2})\S+(?: \S+)*?(?= {2})/gm))
})

it('running.md lists every command of the program', async () => {
  const { stdout } = await runCommand(['--help'], { environment: {} })
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name = '']) => name)
  const [, roles = ''] = read('docs/operations/running.md').split('\n## Roles\n')
  const [table = ''] = roles.split('\n## ')
  const listed = [...table.matchAll(/^\| `([a-z]+)` /gm)].map(([, name = '']) => name)
  assert.ok(commands.length > 10)
  assert.deepEqual(listed, commands)
})

interface Block {
  page: string
  script: string
}

function findBlocks(): Block[] {
  const pages = globSync(
    [
      '*.md',
      '{docs,clients/browser,graph-simulator}/**/*.md',
      '{testing/benchmarks,examples}/**/*.md',
    ],
    {
      cwd: root,
      exclude: path => path.includes('node_modules'),
    },
  )
  return pages.flatMap(page => readShellBlocks(page).map(script => ({ page, script })))
}

function isEntryOf({ page, script }: Block) {
  return (entry: { page: string; begins: string }) =>
    entry.page === page && script.replaceAll(/ +#.*$/gm, '').startsWith(entry.begins)
}

/** Starts one service, and a shell in whose scripts `npm`, `npx` and `node` run in this process. */
async function startShell(test: TestContext) {
  const installation = createInstallation(test, { folderName: '.data' })
  const home = dirname(installation.dataFolder)
  const connectionString = await createDatabaseFromTemplate(test, TEMPLATE_DATABASE)
  const store = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: installation.dataFolder }
  const { url } = await installation.startReady({
    environment: { ...store, SIGNALBOX_HTTP_WORKERS: '0', SIGNALBOX_SIMULATOR_PORT: '0' },
  })
  const credentials = installation.credentials()
  const simulatorUrl = String(credentials.simulator_url)
  const commandUrl = await serveCommands(test, home, {
    ...store,
    SIGNALBOX_PLATFORM_URL: simulatorUrl,
  })
  const editor = join(home, 'editor')
  writeFileSync(editor, '#!/bin/sh\nprintf token > "$1"\n', { mode: 0o700 })
  const placeholders = {
    'http://127.0.0.1:3000': url,
    'https://events.example.com': url,
    'http://127.0.0.1:3001': simulatorUrl,
    '--tracker ID': `--tracker ${credentials.tracker_id}`,
    '--destination ID': `--destination ${credentials.destination_id}`,
    'ada@shop.example': String(credentials.owner_email),
    '--workspace 7': `--workspace ${credentials.workspace_id}`,
    '--account 1': `--account ${credentials.ad_account_id}`,
    'workspaces/1/': `workspaces/${credentials.workspace_id}/`,
  }
  const environment = {
    COMMAND_URL: commandUrl,
    TRACKER_SECRET: credentials.tracker_secret,
    EDITOR: editor,
  }
  const run = (script: string, { before = '', values = {} }: Partial<TestedBlock>) => {
    const filled = Object.entries({ ...values, ...placeholders }).reduce(
      (filling, [placeholder, value]) => filling.replaceAll(placeholder, () => value),
      `${before}\n${script}`,
    )
    return runScript(`${SHELL_FUNCTIONS}${filled}`, { cwd: home, environment })
  }
  return { run }
}

const SHELL_FUNCTIONS = `
set -euo pipefail
here() { printf '%s\\0' "$@" | command curl -s --fail-with-body --data-binary @- "$COMMAND_URL"; }
curl() { command curl -sS --fail-with-body "$@"; }
npm() { here npm "$@"; }
npx() { here npx "$@"; }
node() { here node "$@"; }
`

async function runScript(
  script: string,
  { cwd, environment }: { cwd: string; environment: Record<string, string> },
) {
  const shell = spawn('bash', ['-c', script], {
    cwd,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>(resolve => shell.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)])
  return { code: await ended, output: `${stdout}${stderr}` }
}

/** Answers the output of each command that a script sends; 500 when the command fails. */
async function serveCommands(
  test: TestContext,
  home: string,
  environment: Record<string, string>,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const words = (await buffer(request)).toString().split('\0').slice(0, -1)
    const { code, stdout, stderr } = await runNode(parseCommand(words, home), environment)
    response.writeHead(code === 0 ? 200 : 500).end(`${stdout}${stderr}`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const SERVICE = 'service/main.ts'

/** The operator commands run in this process, since each would load the service again. */
function runNode([program = '', ...rest]: string[], environment: Record<string, string>) {
  if (program === SERVICE) return runCommand(rest, { environment })
  return runProgram([join(root, program), ...rest])
}

const FILE_OPTIONS = /^--(out|from|token-from|head|document|jwks|key-from|jwks-out)$/

/** The arguments of Node, with files in the folder of the shell. */
function parseCommand(words: string[], home: string): string[] {
  const all = findProgram(words)
  return all.map((word, index) =>
    FILE_OPTIONS.test(all[index - 1] ?? '') && !isAbsolute(word) ? join(home, word) : word,
  )
}

/** What the script of `npm run`, or the program of `npx`, is for Node. */
function findProgram([program, ...words]: string[]): string[] {
  if (program === 'node') return words
  if (program === 'npx') {
    if (words[0] === 'node') return words.slice(1)
    assert.equal(words[0], 'signalbox-server')
    return [SERVICE, ...words.slice(1)]
  }
  const { scripts } = JSON.parse(read('package.json'))
  const [, script = '', , ...rest] = words
  return [...scripts[script].split(' ').slice(1), ...rest]
}
