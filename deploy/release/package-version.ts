import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Every place with the version of the packages, by file. The root package.json is the source: the
 * text that it makes of a template is replaced by that of the new version. A test finds any other
 * place. The contract and the MCP server have versions of their own.
 */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  Containerfile: ['signalbox:{version} .', 'image.version="{version}"'],
  'compose.yaml': ['image: signalbox:{version}'],
  'deploy/helm/signalbox/Chart.yaml': ['version: {version}', 'appVersion: "{version}"'],
  'deploy/kubernetes/migrate/kustomization.yaml': ['newTag: {version}'],
  'deploy/kubernetes/service/kustomization.yaml': ['newTag: {version}'],
  'deploy/kubernetes/migrate/job.yaml': ['name: signalbox-migrate-{dashed}'],
  'docs/operations/deploy.md': ['signalbox-server-{version}.tgz', 'signalbox-migrate-{dashed}'],
  'service/program/roles/start-observability.ts': ["PROGRAM_VERSION = '{version}'"],
  'clients/browser/README.md': ['/signalbox-tag-{version}.js'],
  'clients/cli/build-package.test.ts': ["'{version}\\n'"],
  'clients/sdks/behavior.json': ['/{escaped} \\\\S+'],
  'clients/sdks/go/README.md': ['v{version}'],
  'clients/sdks/go/client.go': ['const Version = "{version}"'],
  'clients/sdks/go/examples/opentelemetry/go.mod': ['clients/sdks/go v{version}'],
  'clients/sdks/go/testing/run-go.ts': ['v{version}`'],
  'clients/sdks/python/pyproject.toml': ['version = "{version}"'],
  'clients/sdks/python/src/signalbox/_version.py': ['"{version}"'],
  'clients/sdks/typescript/service.test.ts': ['signalbox-sdk-{version}.tgz'],
  'clients/sdks/typescript/src/settings.ts': ["VERSION = '{version}'"],
  'examples/cdnow/read-credentials.ts': ["version: '{version}'"],
  'graph-simulator/README.md': ['"version":"{version}"'],
}
/** Its version is that of the contract. */
const CONTRACT = 'contract'
/** A release, or one before it such as 1.0.0-rc.1: Python and Kubernetes take no other form. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-rc\.(0|[1-9]\d*))?$/

/** `DISTRIBUTIONS.go` has to end with `/v2` before a version 2 can be published. */
const MAJOR_MAX = 1

export class VersionError extends Error {
  override name = 'VersionError'
}

export function readVersion(root: string): string {
  return readManifest(root, '.').version
}

/** Sets the version everywhere. Throws before the first write when a place is not as expected. */
export function setVersion(root: string, version: string): readonly string[] {
  const old = readVersion(root)
  assertNewer(version, old)
  const changes = [...changeTexts(root, { old, version }), ...changeManifests(root, version)]
  for (const [path, text] of changes) writeFileSync(join(root, path), text)
  return changes.map(([path]) => path)
}

function assertNewer(version: string, old: string): void {
  if (!VERSION.test(version)) {
    throw new VersionError(`${version} is no version such as 0.6.0 or 0.6.0-rc.1.`)
  }
  if (Number(version.split('.')[0]) > MAJOR_MAX) {
    throw new VersionError('Go wants the major version in the path of the module from 2.0.0 on.')
  }
  if (compareVersions(version, old) > 0) return
  throw new VersionError(`${version} is not newer than ${old}, the version of this checkout.`)
}

/** By the rules of Semantic Versioning, for the forms that are allowed here. */
function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map(toNumbers) as [number[], number[]]
  const at = a.findIndex((number, index) => number !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** A release candidate comes before its release. */
function toNumbers(version: string): number[] {
  const [release = '', candidate] = version.split('-rc.')
  return [...release.split('.').map(Number), candidate === undefined ? Infinity : Number(candidate)]
}

interface Versions {
  old: string
  version: string
}

function changeTexts(root: string, { old, version }: Versions): [path: string, text: string][] {
  return Object.entries(PLACES).map(([path, templates]) => {
    const text = readFileSync(join(root, path), 'utf8')
    return [
      path,
      templates.reduce((changed, template) => {
        const found = fillTemplate(template, old)
        if (changed.includes(found))
          return changed.replaceAll(found, fillTemplate(template, version))
        throw new VersionError(`${path} has no text ${found}.`)
      }, text),
    ]
  })
}

/** `{dashed}` is for names of Kubernetes, and `{escaped}` for a regular expression in JSON. */
export function fillTemplate(template: string, version: string): string {
  return template
    .replaceAll('{version}', version)
    .replaceAll('{dashed}', version.replaceAll('.', '-'))
    .replaceAll('{escaped}', version.replaceAll('.', '\\\\.'))
}

export function listPlaces(): readonly [path: string, templates: readonly string[]][] {
  return Object.entries(PLACES)
}

/** The root, its workspaces but the contract, and both in the lockfile. */
function changeManifests(root: string, version: string): [path: string, text: string][] {
  const folders = ['.', ...readManifest(root, '.').workspaces.filter(name => name !== CONTRACT)]
  const manifests = folders.map((folder): [string, string] => {
    return [join(folder, 'package.json'), print({ ...readManifest(root, folder), version })]
  })
  const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  lockfile.version = version
  for (const folder of folders) lockfile.packages[folder === '.' ? '' : folder].version = version
  return [...manifests, ['package-lock.json', print(lockfile)]]
}

interface Manifest {
  version: string
  workspaces: string[]
}

function readManifest(root: string, folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
}

function print(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
