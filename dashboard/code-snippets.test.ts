import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import {
  GO_MILLISECONDS_MAX,
  openGo,
  temporaryFolder,
  writeModule,
} from '../clients/sdks/go/testing/run-go.ts'
import { openPython, runPython } from '../clients/sdks/python/python-tools.ts'
import { startTestService } from '../testing/fixtures/service.ts'
import {
  type CodeSnippet,
  createEventSnippets,
  validateSnippets,
} from './src/components/code-snippets.ts'

const timeout = GO_MILLISECONDS_MAX
/** Texts that a program has to escape, each in its own way. */
const PROPERTIES = {
  'a name with spaces': `it's "quoted" \\ and \`ticked\` \${here}`,
  'größe 🎁': 'line\nbreak\ttab \\n ü 🎁 \u2028',
  nested: { list: [1, 2.5, true, null], empty: {}, none: [] },
}
const EVENT = {
  event_name: 'Purchase',
  consent_basis: 'consent',
  consent: { ad_user_data: 'granted' },
  user_data: { em: 'customer@example.com' },
  value_data: { value: '19.90', currency: 'EUR', custom_properties: PROPERTIES },
}
const LANGUAGES = ['curl', 'TypeScript', 'Python', 'Go', 'CLI']
const CLI = join(import.meta.dirname, '../clients/cli/src/main.ts')

type Run = (code: string, environment: Record<string, string>) => Promise<string>

/** Runs a program of a language as a person who copied it would. Null when a tool is missing. */
const RUNNERS: Record<string, (test: TestContext) => Run | null> = {
  curl: () => (code, env) => runProgram(['bash', '-c', code], { env }),
  // The command that `npm install` puts on PATH.
  CLI: () => (code, env) =>
    runProgram(['bash', '-c', `signalbox() { ${process.execPath} ${CLI} "$@"; }\n${code}`], {
      env,
    }),
  TypeScript: test => {
    // Below the repository, where the package is found.
    const folder = mkdtempSync(join(import.meta.dirname, 'snippet-'))
    test.after(() => rmSync(folder, { recursive: true }))
    return async (code, env) => {
      writeFileSync(join(folder, 'program.ts'), code)
      return runProgram([process.execPath, join(folder, 'program.ts')], { env })
    }
  },
  Python: test => {
    const python = openPython(test)
    if (python === null) return null
    return (code, environment) => runPython(python, ['-c', code], { environment })
  },
  Go: test => {
    const go = openGo(test)
    if (go === null) return null
    const folder = temporaryFolder(test)
    return async (code, environment) => {
      writeModule(folder, code)
      const { output } = await go.run(['run', '.'], { folder, environment })
      return output
    }
  },
}

async function runProgram([program = '', ...parameters]: string[], { env }: { env: object }) {
  const options = { cwd: import.meta.dirname, env: { PATH: process.env.PATH, ...env } }
  const { stdout, stderr } = await promisify(execFile)(program, parameters, options)
  return `${stdout}${stderr}`
}

function codeOf(snippets: readonly CodeSnippet[], language: string): string {
  return snippets.find(snippet => snippet.language === language)?.code ?? ''
}

for (const language of LANGUAGES) {
  it(`${language}: creates the event as it stands in the text`, { timeout }, async test => {
    const run = RUNNERS[language]?.(test)
    if (!run) return
    const service = await startTestService(test)
    const event_id = `from-${language}`
    const body = JSON.stringify({ ...EVENT, event_id }, null, 2)
    const code = codeOf(createEventSnippets({ origin: service.url, body }), language)
    const environment = { SIGNALBOX_TOKEN: service.tracker.trackerSecret }
    assert.match(await run(code, environment), new RegExp(`${event_id}.*(false|is stored)`, 'i'))
    const { event } = (await service.read(event_id)).body
    assert.equal(event.value_data.value, '19.90')
    assert.deepEqual(event.value_data.custom_properties, PROPERTIES)
    assert.match(await run(code, environment), new RegExp(`${event_id}.*(true|stored before)`, 'i'))
  })

  it(`${language}: validates the event in the sandbox without a token`, { timeout }, async test => {
    const run = RUNNERS[language]?.(test)
    if (!run) return
    const service = await startTestService(test)
    const body = JSON.stringify(EVENT)
    const code = codeOf(validateSnippets({ origin: service.url, body }), language)
    const { api_key: secret } = (await service.request('POST', '/api/v1/sandbox/keys')).body
    const path = '/api/v1/sandbox/keyed-events'
    const { message } = (await service.request('POST', path, { secret, rawBody: body })).body
    const output = await run(code, { SANDBOX_KEY: secret })
    assert.ok(message && output.includes(message), output)
  })
}

it('shows the command alone while the text is no JSON object', () => {
  for (const body of ['{', '[]', 'null', '"text"']) {
    const options = { origin: 'https://events.example', body }
    for (const snippets of [createEventSnippets(options), validateSnippets(options)]) {
      assert.deepEqual(
        snippets.map(({ language }) => language),
        ['curl'],
      )
    }
  }
})
