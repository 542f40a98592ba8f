import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, it } from 'node:test'
import { buildDashboard, DASHBOARD_FOLDER } from './build.ts'

const KILOBYTE = 1_024
const FIRST_LOAD_BYTES_MAX = 160 * KILOBYTE
const ROUTE_BYTES_MAX = 40 * KILOBYTE
/** Chunks that several routes share, by the package that they hold, with a limit of their own. */
const SHARED_CHUNKS = [
  { name: 'charts', contains: /recharts/, bytesMax: 125 * KILOBYTE },
  { name: 'phone numbers', contains: /libphonenumber/, bytesMax: 45 * KILOBYTE },
]

/** A chunk in the manifest of Vite. */
interface Chunk {
  file: string
  name?: string
  isEntry?: boolean
  imports?: string[]
  dynamicImports?: string[]
}

let chunks: Record<string, Chunk>
before(async () => {
  await buildDashboard()
  chunks = JSON.parse(readFileSync(join(DASHBOARD_FOLDER, 'manifest.json'), 'utf8'))
})

/** The chunk and what it imports statically. */
function closureOf(key: string, into = new Set<string>()): Set<string> {
  if (into.has(key)) return into
  into.add(key)
  for (const imported of chunks[key]?.imports ?? []) closureOf(imported, into)
  return into
}

function bytesOf(key: string): number {
  const file = chunks[key]?.file ?? ''
  return readFileSync(join(DASHBOARD_FOLDER, `${file}.gz`)).length
}

function findEntry(): string {
  const [entry] = Object.entries(chunks).find(([, { isEntry }]) => isEntry) ?? []
  assert.ok(entry)
  return entry
}

it('loads at most 160 KB of compressed JavaScript first', test => {
  const bytes = [...closureOf(findEntry())].reduce((sum, key) => sum + bytesOf(key), 0)
  test.diagnostic(`first load: ${Math.round(bytes / KILOBYTE)} KB`)
  assert.ok(bytes <= FIRST_LOAD_BYTES_MAX, `${bytes} bytes`)
})

it('loads at most 40 KB more for each page, besides the shared chunks', test => {
  const first = closureOf(findEntry())
  const routes = [...first].flatMap(key => chunks[key]?.dynamicImports ?? [])
  assert.ok(routes.length > 1)
  for (const route of new Set(routes)) {
    const own = [...closureOf(route)].filter(key => !first.has(key) && !sharedChunkOf(key))
    const bytes = own.reduce((sum, key) => sum + bytesOf(key), 0)
    test.diagnostic(`${route}: ${Math.round(bytes / KILOBYTE)} KB`)
    assert.ok(bytes <= ROUTE_BYTES_MAX, `${route}: ${bytes} bytes in ${own}`)
  }
})

it('keeps charts and phone numbers out of the first load, each within its limit', () => {
  const first = closureOf(findEntry())
  for (const key of Object.keys(chunks)) {
    const shared = sharedChunkOf(key)
    if (!shared) continue
    assert.ok(!first.has(key), `${shared.name} are in the first load`)
    assert.ok(bytesOf(key) <= shared.bytesMax, `${shared.name}: ${bytesOf(key)} bytes`)
  }
})

/** Vite names a chunk after the module or the group in `build.ts` that it is made of. */
function sharedChunkOf(key: string) {
  const { name = '' } = chunks[key] ?? {}
  return SHARED_CHUNKS.find(({ contains }) => contains.test(`${key} ${name}`))
}
