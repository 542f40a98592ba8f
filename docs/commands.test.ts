import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, isAbsolute, join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { runCommand } from '../testing/fixtures/command-line.ts'
import { createDatabaseFromTemplate, TEMPLATE_DATABASE } from '../testing/fixtures/database.ts'
import { createInstallation, runProgram } from '../testing/fixtures/program.ts'

/** A fenced `sh` block that the test runs, found by its page and its first command. */
interface TestedBlock {
  page: string
  begins: string
  /** What its output contains. */
  expected: RegExp
  /** Commands that the page leaves to the reader. */
  before?: string
  /** Placeholders of this block, beside those of every page. */
  values?: Record<string, string>
}

interface UntestedBlock {
  page: string
  begins: string
  /** The test that covers the commands, or the reason why none can. */
  coveredBy: string
}

const OPERATIONS = 'docs/operations'
const SIMULATOR = 'graph-simulator/README.md'
const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

/** In the order in which they run on one installation. */
const TESTED: readonly TestedBlock[] = [
  { page: 'README.md', begins: 'SECRET=$(sed', expected: /HTTP\/1\.1 202 / },
  {
    page: 'README.md',
    begins: 'curl -s http://127.0.0.1:3000/api/v1/events/order-1001',
    expected: /"status":"(queued|sent|accepted)"/,
    values: { $SECRET: '$TRACKER_SECRET' },
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'curl -sI',
    expected: /^etag: "[\s\S]*\n200\n$/im,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'curl -s -o openapi.json',
    expected: /signed with the development key/,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'openssl genpkey',
    expected: /^$/,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'npm run contract:sign',
    expected: /signed with the key/,
    before: 'openssl genpkey -algorithm ed25519 -out release-key.pem',
  },
  {
    page: `${OPERATIONS}/browser-keys.md`,
    begins: 'npm run key -- list',
    expected: /publishable[\s\S]*revoked/,
    values: { c0de: `$(sed -n 's/.*_secret": ".*\\(....\\)".*/\\1/p' forwarding.json)` },
  },
  {
    page: `${OPERATIONS}/reconciliation.md`,
    begins: 'npm run report',
    expected: new RegExp(YESTERDAY),
    values: { '2026-11-20': YESTERDAY },
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins: 'npm run client',
    expected: /Terminal/,
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins:
      'token=$(sed -n \'s/.*"execution_token": "\\(.*\\)".*/\\1/p\' .data/credentials.json)\ncurl',
    expected: /"execution_mode":/,
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins: 'npm run campaigns',
    expected: /campaign:\d+/,
    values: { '120200000000001001': '$CAMPAIGN' },
    before:
      'CAMPAIGN=$(npm run campaigns -- list --account 1 | sed -n "/^campaign/{s/.*campaign:\\([0-9]*\\).*/\\1/p;q;}")',
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'install -m 600',
    expected: /^$/,
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'npm run provision',
    expected: /shop\.json/,
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'npm run credential -- list',
    expected: /active/,
    before: '"$EDITOR" meta-token',
  },
  {
    page: `${OPERATIONS}/audit.md`,
    begins: 'npm run audit -- export',
    expected: /shop\.ndjson/,
  },
  {
    page: `${OPERATIONS}/audit.md`,
    begins: 'npm run audit -- verify',
    expected: /workspace 1/i,
  },
  {
    page: `${OPERATIONS}/erasure.md`,
    begins: 'digest=$(printf',
    expected: /"deletion_request_id"/,
  },
  {
    page: `${OPERATIONS}/people.md`,
    begins: 'npm run people',
    expected: /disabled[\s\S]*active/,
  },
  {
    page: 'browser/README.md',
    begins: 'node browser/print-forwarder.ts',
    expected: /\/sb/,
  },
  {
    page: SIMULATOR,
    begins: "curl 'http://127.0.0.1:3001/_simulator/health'",
    expected: /"forgotten":/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/faults',
    expected: /"rules":/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/tokens',
    expected: /"revoked":1/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/stats',
    expected: /"page_rows":5/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/other-events',
    expected: /"added":501/,
  },
]

const UNTESTED: readonly UntestedBlock[] = [
  {
    page: 'README.md',
    begins: 'npm ci\nnpm start',
    coveredBy: 'this test starts the program of `npm start`; npm ci needs a registry',
  },
  {
    page: 'README.md',
    begins: 'claude mcp add',
    coveredBy: 'needs Claude Code',
  },
  {
    page: 'CONTRIBUTING.md',
    begins: 'npm ci\nexport PATH',
    coveredBy: 'npm test would run this test again; npm ci needs a registry',
  },
  { page: 'benchmarks/README.md', begins: 'npm run bench', coveredBy: 'takes minutes' },
  {
    page: 'examples/agent/README.md',
    begins: 'npm start',
    coveredBy: 'examples/agent/agent.test.ts',
  },
  {
    page: 'examples/cdnow/README.md',
    begins: 'npm start',
    coveredBy: 'examples/cdnow/cdnow.test.ts',
  },
  {
    page: SIMULATOR,
    begins: 'node graph-simulator/main.ts',
    coveredBy: 'this test uses the simulator that `all` starts',
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins: 'claude mcp add',
    coveredBy: 'needs Claude Code',
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins:
      'token=$(sed -n \'s/.*"execution_token": "\\(.*\\)".*/\\1/p\' .data/credentials.json)\nclaude',
    coveredBy: 'needs Claude Code',
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'mv .data/credential-key',
    coveredBy: 'service/roles/credential-command.test.ts',
  },
  {
    page: `${OPERATIONS}/erasure.md`,
    begins: 'psql "$DATABASE_URL"',
    coveredBy: 'needs psql, which no npm package brings',
  },
  {
    page: `${OPERATIONS}/running.md`,
    begins: 'export DATABASE_URL=',
    coveredBy: 'service/roles/separate-roles.test.ts',
  },
  {
    page: `${OPERATIONS}/running.md`,
    begins: 'PGPASSWORD=',
    coveredBy: 'needs pg_dump, which no npm package brings',
  },
]

const root = join(import.meta.dirname, '..')

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

interface Block {
  page: string
  /** Without comments before the first command. */
  script: string
}

function findBlocks(): Block[] {
  const pages = globSync(
    ['*.md', '{docs,browser,graph-simulator}/**/*.md', '{benchmarks,examples}/**/*.md'],
    {
      cwd: root,
      exclude: path => path.includes('node_modules'),
    },
  )
  return pages.flatMap(page => {
    const fences = readFileSync(join(root, page), 'utf8').matchAll(
      /^( *)```sh\n([\s\S]*?)^ *```$/gm,
    )
    return [...fences].map(([, indent = '', body = '']) => ({
      page,
      script: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '').replace(/^(#.*\n)+/, ''),
    }))
  })
}

function isEntryOf({ page, script }: Block) {
  return (entry: { page: string; begins: string }) =>
    entry.page === page && script.replaceAll(/ +#.*$/gm, '').startsWith(entry.begins)
}

/** Starts one service, and a shell in whose scripts `npm` and `node` run in this process. */
async function startShell(test: TestContext) {
  const installation = createInstallation(test, '.data')
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

/** The arguments of Node, with npm's script in place and files in the folder of the shell. */
function parseCommand([program, ...words]: string[], home: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [, script = '', , ...rest] = words
  const [, ...scriptWords] = program === 'npm' ? scripts[script].split(' ') : ['', ...words]
  const all = program === 'npm' ? [...scriptWords, ...rest] : scriptWords
  return all.map((word: string, index: number) =>
    FILE_OPTIONS.test(all[index - 1] ?? '') && !isAbsolute(word) ? join(home, word) : word,
  )
}
