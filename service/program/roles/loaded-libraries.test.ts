import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'

/** Libraries of 4 to 29 MB for each thread, which few requests need. */
const LOADED_ON_FIRST_USE = [
  /^better-auth$/,
  /^@better-auth\//,
  /^nodemailer$/,
  /^oidc-provider$/,
  /^@modelcontextprotocol\//,
  /^@opentelemetry\//,
]

for (const entry of ['run-all.ts', 'run-serve.ts', 'run-deliver.ts', 'http-worker.ts']) {
  it(`the start of ${entry} loads no library of sign-in, email, OAuth, MCP or tracing`, () => {
    const { files, packages } = followImports(join(import.meta.dirname, entry))
    assert.ok(files.size > 40)
    assert.ok(packages.has('kysely'))
    const large = [...packages].filter(name => LOADED_ON_FIRST_USE.some(known => known.test(name)))
    assert.deepEqual(large, [])
  })
}

it('the main thread of serve loads settings of platforms, but none of their clients', () => {
  const main = join(import.meta.dirname, '../../main.ts')
  const plugIns = join(import.meta.dirname, '../../signals/platforms/plug-ins.ts')
  const entries = [main, plugIns, ...['command-line.ts', 'run-serve.ts'].map(besideThis)]
  const followed = entries.map(followImports)
  const files = new Set(followed.flatMap(({ files }) => [...files]))
  const packages = new Set(followed.flatMap(({ packages }) => [...packages]))
  const ofPlatforms = [...files].flatMap(file => /\/platforms\/(.*\/.*)$/.exec(file)?.[1] ?? [])
  assert.ok(ofPlatforms.includes('meta/settings.ts'))
  assert.deepEqual(
    ofPlatforms.filter(file => !file.endsWith('/settings.ts')),
    [],
  )
  assert.ok(packages.has('kysely'))
  // What requests need, and takes 1 to 3 MB.
  for (const name of ['ajv', 'fastify', 'libphonenumber-js']) assert.ok(!packages.has(name), name)
})

function besideThis(name: string): string {
  return join(import.meta.dirname, name)
}

/** What Node loads with a file: neither type imports nor `import()`. */
function followImports(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set([entry])
  const packages = new Set<string>()
  for (const file of files) {
    const imports = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type\b)[^'=]*?from '([^']+)'/gm,
    )
    for (const [, target = ''] of imports) {
      if (target.startsWith('.')) files.add(join(dirname(file), target))
      else if (!/^(node:|@signalbox\/)/.test(target)) packages.add(nameOf(target))
    }
  }
  for (const file of files) if (!file.endsWith('.ts')) files.delete(file)
  return { files, packages }
}

function nameOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
}
