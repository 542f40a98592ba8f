// Runs alone: a module that another test of the process has loaded resolves nothing again.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = join(import.meta.dirname, '../../..')
const SANDBOX = 'service/signals/sandbox/routes.ts'

const MODULES =
  '(agents|audit|dashboard|program|workspaces|runtime/(db|settings)|' +
  'signals/(delivery|erasure|platforms|reports|retention))'
const FORBIDDEN = new RegExp(`^service/${MODULES}/|store\\.ts$`)

/** Imports as Node resolves them: without type imports, and in every spelling. */
const importsSeen: { from: string; target: string }[] = []
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    if (context.parentURL) {
      importsSeen.push({ from: toPath(context.parentURL), target: toPath(resolved.url) })
    }
    return resolved
  },
})

it('reaches no store, delivery, or platform through its imports', async () => {
  const files = await loadedFiles()
  const expected = [
    'signals/ingestion/validate-submission.ts',
    'signals/consent/consent-decision.ts',
    'runtime/http/refusal.ts',
  ]
  for (const file of expected) assert.ok(files.includes(`service/${file}`), file)
  assert.deepEqual(
    files.filter(file => FORBIDDEN.test(file)),
    [],
  )
})

it('imports neither the file system nor the network', async () => {
  const files = await loadedFiles()
  const builtIn = importsSeen
    .filter(({ from, target }) => files.includes(from) && target.startsWith('node:'))
    .map(({ target }) => target)
  assert.deepEqual([...new Set(builtIn)].sort(), ['node:buffer', 'node:crypto', 'node:zlib'])
  const dynamic = files.filter(file => /\bimport\(|\brequire\(|\bfetch\(/.test(sourceOf(file)))
  assert.deepEqual(dynamic, [])
})

/** The files of the project that the sandbox's routes load, including themselves. */
async function loadedFiles(): Promise<string[]> {
  await import('./routes.ts')
  const files = [SANDBOX]
  for (const file of files) {
    const targets = importsSeen.filter(({ from }) => from === file).map(({ target }) => target)
    files.push(
      ...new Set(targets.filter(target => isProjectFile(target) && !files.includes(target))),
    )
  }
  assert.ok(files.length > 25)
  return files
}

function isProjectFile(path: string): boolean {
  return /^(service|contract)\//.test(path)
}

/** The path in the repository; the real path for a workspace package. */
function toPath(url: string): string {
  return url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
