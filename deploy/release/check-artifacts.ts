import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse as parseYaml } from 'yaml'
import { API_VERSION } from '../../contract/api-version.ts'
import { verifyCommand } from '../../contract/verify-command.ts'
import { ROOT } from '../package/build-package.ts'
import { type Artifacts, openReleasePython } from './build-artifacts.ts'
import { DISTRIBUTIONS, REPOSITORY } from './distributions.ts'
import { checkGoModule } from './go-module.ts'

const NPM_PACKAGES = ['server', 'cli', 'typescript'] as const

/** Checks every artifact, and returns a line about each. Throws at the first fault. */
export async function checkArtifacts(
  folder: string,
  artifacts: Artifacts,
  version: string,
): Promise<string[]> {
  const pathOf = (name: keyof Artifacts) => join(folder, artifacts[name])
  const npm = NPM_PACKAGES.map(name => {
    checkManifest(pathOf(name), { name: DISTRIBUTIONS[name], version })
    runTool('publint/src/cli.js', ['--strict', pathOf(name)])
    return `${artifacts[name]}: name, version, repository, license, changelog; publint`
  })
  // Only the client has types that others import.
  runTool('@arethetypeswrong/cli/dist/index.js', [pathOf('typescript'), '--profile', 'esm-only'])
  return [
    ...npm,
    `${artifacts.typescript}: attw`,
    ...checkPython([pathOf('wheel'), pathOf('sdist')], version),
    `${artifacts.go}: ${checkGoModule(pathOf('go'), version)}`,
    checkChart(pathOf('chart'), version),
    checkSbom(pathOf('sbom'), version),
    await checkContract(pathOf('contract'), pathOf('keys')),
  ]
}

function runTool(path: string, args: readonly string[]): void {
  run(process.execPath, [join(ROOT, 'node_modules', path), ...args])
}

/** What it printed. Throws an error with all of it. */
function run(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe', cwd: ROOT })
  } catch (cause) {
    const { stdout, stderr } = cause as { stdout: string; stderr: string }
    throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`, { cause })
  }
}

/** npm refuses provenance whose repository is not the one that built the package. */
function checkManifest(path: string, expected: { name: string; version: string }): void {
  const files = run('tar', ['--list', '--gzip', '--file', path]).split('\n')
  const manifest = JSON.parse(
    run('tar', ['--extract', '--gzip', '--to-stdout', '--file', path, 'package/package.json']),
  )
  const facts = {
    name: [manifest.name, expected.name],
    version: [manifest.version, expected.version],
    license: [manifest.license, 'MIT'],
    repository: [manifest.repository?.url, `git+${REPOSITORY}.git`],
    private: [manifest.private, undefined],
  }
  for (const [name, [found, wanted]] of Object.entries(facts)) {
    if (found !== wanted) throw new Error(`${path}: ${name} is ${found} and not ${wanted}.`)
  }
  for (const name of ['LICENSE', 'README.md', 'CHANGELOG.md']) {
    if (!files.includes(`package/${name}`)) throw new Error(`${path} has no ${name}.`)
  }
}

const READ_METADATA = `
import email, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = email.message_from_bytes(wheel.read(name))
print(metadata["Name"], metadata["Version"])
`

function checkPython([wheel = '', sdist = '']: readonly string[], version: string): string[] {
  const python = openReleasePython()
  run(python, ['-m', 'twine', 'check', '--strict', wheel, sdist])
  const found = run(python, ['-c', READ_METADATA, wheel]).trim()
  // PyPI writes 0.6.0-rc.1 as 0.6.0rc1.
  const expected = `${DISTRIBUTIONS.python} ${version.replace('-rc.', 'rc')}`
  if (found !== expected) throw new Error(`${wheel} is ${found} and not ${expected}.`)
  return [wheel, sdist].map(path => `${path.split('/').at(-1)}: name and version; twine check`)
}

function checkChart(path: string, version: string): string {
  const read = (name: string) =>
    run('tar', ['--extract', '--gzip', '--to-stdout', '--file', path, `signalbox/${name}`])
  const chart = parseYaml(read('Chart.yaml'))
  const found = [chart.name, chart.version, chart.appVersion].join(' ')
  const expected = ['signalbox', version, version].join(' ')
  if (found !== expected) throw new Error(`${path} is ${found} and not ${expected}.`)
  JSON.parse(read('values.schema.json'))
  return `${path.split('/').at(-1)}: name, version and schema of the values`
}

function checkSbom(path: string, version: string): string {
  const { bomFormat, metadata, components } = JSON.parse(readFileSync(path, 'utf8'))
  if (bomFormat !== 'CycloneDX' || metadata.component.version !== version) {
    throw new Error(`${path} is no CycloneDX document of ${version}.`)
  }
  return `${path.split('/').at(-1)}: CycloneDX with ${components.length} packages`
}

async function checkContract(document: string, jwks: string): Promise<string> {
  await verifyCommand(['--document', document, '--jwks', jwks])
  const { info } = JSON.parse(readFileSync(document, 'utf8'))
  if (info.version !== API_VERSION) throw new Error(`The contract is ${info.version}.`)
  return `${document.split('/').at(-1)}: contract ${API_VERSION}; the signature is valid`
}
