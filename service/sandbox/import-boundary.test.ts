import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')
const SANDBOX = 'service/sandbox/routes.ts'
/** What Node itself resolves, so type imports do not count and no spelling of an import is missed. */
const importsSeen: { from: string; target: string }[] = []
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    if (context.parentURL) {
      importsSeen.push({ from: placeOf(context.parentURL), target: placeOf(resolved.url) })
    }
    return resolved
  },
})

it('the sandbox reaches no store, no delivery and no platform, by however many steps', async () => {
  const files = await reachedFiles()
  const known = [
    'ingestion/validate-submission.ts',
    'consent/consent-decision.ts',
    'http/refusal.ts',
  ]
  for (const file of known) assert.ok(files.includes(`service/${file}`), file)
  const forbidden =
    /^service\/(db|ledger|delivery|platforms|reports|provisioning|metrics|roles|settings)\/|store\.ts$/
  assert.deepEqual(
    files.filter(file => forbidden.test(file)),
    [],
  )
})

it('its files have neither the disk nor the network', async () => {
  const files = await reachedFiles()
  const builtIn = importsSeen
    .filter(({ from, target }) => files.includes(from) && target.startsWith('node:'))
    .map(({ target }) => target)
  assert.deepEqual([...new Set(builtIn)].sort(), ['node:buffer', 'node:crypto', 'node:zlib'])
  const late = files.filter(file => /\bimport\(|\brequire\(|\bfetch\(/.test(sourceOf(file)))
  assert.deepEqual(late, [])
})

/** Our own files that loading the sandbox's routes loads, the routes among them. */
async function reachedFiles(): Promise<string[]> {
  await import('./routes.ts')
  const files = [SANDBOX]
  for (const file of files) {
    const targets = importsSeen.filter(({ from }) => from === file).map(({ target }) => target)
    files.push(...new Set(targets.filter(target => isOurs(target) && !files.includes(target))))
  }
  assert.ok(files.length > 40)
  return files
}

function isOurs(place: string): boolean {
  return /^(service|contract)\//.test(place)
}

/** The path below the repository, the real one of a workspace's package too. */
function placeOf(url: string): string {
  return url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
