import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
const BYTES_MAX = 64 * 1024 * 1024

interface Component {
  name: string
  version: string
  purl?: string
  hashes?: { alg: string }[]
  properties?: { name: string; value: string }[]
}

it('npm run sbom lists every dependency of the program with its version and digest', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    maxBuffer: BYTES_MAX,
  })
  const { bomFormat, components } = JSON.parse(stdout) as {
    bomFormat: string
    components: Component[]
  }
  assert.equal(bomFormat, 'CycloneDX')
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  for (const [name, version] of Object.entries(dependencies ?? {})) {
    // Several versions of one package may be installed.
    const found = components.find(
      component => nameOf(component) === name && component.version === version,
    )
    assert.equal(found?.hashes?.[0]?.alg, 'SHA-512', `${name}: ${JSON.stringify(found)}`)
  }
  const tool = components.find(component => nameOf(component) === '@biomejs/biome')
  assert.deepEqual(tool?.properties, [{ name: 'cdx:npm:package:development', value: 'true' }])
})

/** The package URL has the scope, which some versions of npm leave out of the name. */
function nameOf({ name, purl = '' }: Component): string {
  const [, fromUrl] = /^pkg:npm\/(.+)@[^@]+$/.exec(decodeURIComponent(purl)) ?? []
  return fromUrl ?? name
}
