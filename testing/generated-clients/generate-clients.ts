import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GO_PROGRAM, PYTHON_PROGRAM, TYPESCRIPT_PROGRAM } from './client-programs.ts'

export type ClientLanguage = 'typescript' | 'python' | 'go'

const ROOT = join(import.meta.dirname, '..', '..')
const DOCUMENT = join(ROOT, 'contract', 'openapi.json')
const CACHE = join(ROOT, 'node_modules', '.cache', 'generated-clients')
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
const PYTHONS = ['python3.11', 'python3.12', 'python3.13', 'python3']
const IS_RECENT_PYTHON = 'import sys; sys.exit(sys.version_info < (3, 11))'
/** An unreachable registry must not block the tests. */
const DOWNLOAD_MILLISECONDS_MAX = 120_000
const DOWNLOAD_TRIES = 2

/** A tool or a registry is missing. The message says which. */
export class UnavailableError extends Error {
  override name = 'UnavailableError'
}

/** The program that a language needs, found on PATH. Throws an UnavailableError without it. */
export function findProgram(language: ClientLanguage, environment = process.env): string {
  if (language === 'typescript') return process.execPath
  const candidates = language === 'go' ? ['go'] : PYTHONS
  const probe = language === 'go' ? ['version'] : ['-c', IS_RECENT_PYTHON]
  const isFound = (name: string) => spawnSync(name, probe, { env: environment }).status === 0
  const program = candidates.find(isFound)
  if (program) return program
  throw new UnavailableError(`${language === 'go' ? 'Go' : 'Python 3.11 or newer'} is not on PATH.`)
}

/** Whether a missing tool fails the tests: SIGNALBOX_REQUIRE_SDKS lists the languages. */
export function isRequired(language: ClientLanguage, environment = process.env): boolean {
  return (environment.SIGNALBOX_REQUIRE_SDKS ?? '').split(',').includes(language)
}

/**
 * Generates the client of one language from the contract and compiles it with a program that uses
 * it. Generators are pinned and installed below `node_modules/.cache`. A result is kept for the
 * same contract, generator and program. Throws an error with the output of the step that failed.
 */
export function checkClient(language: ClientLanguage, program = findProgram(language)): void {
  const client = CLIENTS[language]
  const pins = client.pins.map(name => readFileSync(join(import.meta.dirname, language, name)))
  const generator = digest([...pins, readFileSync(import.meta.filename)])
  const mark = join(
    CACHE,
    `${language}-${digest([readFileSync(DOCUMENT), client.usage, generator])}`,
  )
  if (existsSync(mark)) return
  const tools = join(CACHE, `${language}-tools-${generator}`)
  const folder = join(CACHE, `${language}-client`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  client.install({ program, tools, folder })
  client.compile({ program, tools, folder })
  writeFileSync(mark, '')
}

interface Workplace {
  program: string
  /** Where the generator is installed. */
  tools: string
  /** Where the client is generated. */
  folder: string
}

interface Client {
  /** Files that fix the versions of the generator and of its dependencies. */
  pins: readonly string[]
  usage: string
  install(workplace: Workplace): void
  compile(workplace: Workplace): void
}

const CLIENTS: Record<ClientLanguage, Client> = {
  typescript: {
    pins: ['package.json', 'package-lock.json'],
    usage: TYPESCRIPT_PROGRAM,
    install({ tools }) {
      installOnce(tools, () => {
        cpSync(join(import.meta.dirname, 'typescript'), tools, { recursive: true })
        download(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], tools)
      })
    },
    compile({ program, tools, folder }) {
      const bin = (path: string) => join(tools, 'node_modules', path)
      writeFileSync(join(folder, 'usage.ts'), TYPESCRIPT_PROGRAM)
      run([program, bin('openapi-typescript/bin/cli.js'), DOCUMENT, '-o', 'schema.d.ts'], folder)
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TYPESCRIPT_PROJECT))
      run([program, bin('typescript/bin/tsc'), '--project', folder], folder)
    },
  },
  python: {
    pins: ['requirements.txt'],
    usage: PYTHON_PROGRAM,
    install({ program, tools }) {
      const requirements = join(import.meta.dirname, 'python', 'requirements.txt')
      installPython(program, { tools, requirements })
    },
    compile({ tools, folder }) {
      const bin = (name: string) => join(tools, 'bin', name)
      const target = ['--output-path', join(folder, 'signalbox'), '--meta', 'none', '--overwrite']
      const generator = [bin('openapi-python-client'), 'generate', '--path', DOCUMENT, ...target]
      const PATH = `${join(tools, 'bin')}:${process.env.PATH}`
      requireKnownWarnings(run(generator, folder, { PATH }))
      writeFileSync(join(folder, 'usage.py'), PYTHON_PROGRAM)
      run([bin('python'), '-m', 'compileall', '-q', 'signalbox'], folder)
      run([bin('python'), 'usage.py'], folder)
    },
  },
  go: {
    pins: ['go.mod', 'go.sum'],
    usage: GO_PROGRAM,
    install({ program, folder }) {
      cpSync(join(import.meta.dirname, 'go'), folder, { recursive: true })
      download([program, 'mod', 'download'], folder)
    },
    compile({ program, folder }) {
      const options = ['-package', 'signalbox', '-generate', 'types,client', '-o', 'client.go']
      download([program, 'run', OAPI_CODEGEN, ...options, DOCUMENT], folder)
      writeFileSync(join(folder, 'usage.go'), GO_PROGRAM)
      run([program, 'vet', './...'], folder)
    },
  },
}

/** Strict, and without the types of our own packages, which stand in folders above. */
const TYPESCRIPT_PROJECT = {
  compilerOptions: { strict: true, noEmit: true, allowImportingTsExtensions: true, types: [] },
  files: ['usage.ts', 'schema.d.ts'],
}

/** The generator for Python leaves out text/plain, which only the beacon of a page sends. */
function requireKnownWarnings(output: string): void {
  const warnings = output.match(/^(WARNING|ERROR) .*$/gm) ?? []
  if (warnings.join() === 'WARNING parsing POST /events within events.') return
  throw new Error(`openapi-python-client warns of something new:\n${output.slice(0, 4_000)}`)
}

/** Installs pinned packages of Python once per content of the file, and returns its Python. */
export function installPinnedPython(program: string, requirements: string): string {
  mkdirSync(CACHE, { recursive: true })
  const tools = join(CACHE, `python-packages-${digest([readFileSync(requirements)])}`)
  installPython(program, { tools, requirements })
  return join(tools, 'bin', 'python')
}

interface PythonPackages {
  /** The virtual environment. */
  tools: string
  /** A requirements.txt with hashes. */
  requirements: string
}

function installPython(program: string, { tools, requirements }: PythonPackages): void {
  installOnce(tools, () => {
    run([program, '-m', 'venv', tools], CACHE)
    const options = ['--require-hashes', '--disable-pip-version-check', '--quiet']
    download([join(tools, 'bin/pip'), 'install', ...options, '-r', requirements], CACHE)
  })
}

/** Restarts an interrupted installation. */
function installOnce(tools: string, install: () => void): void {
  const mark = join(tools, '.installed')
  if (existsSync(mark)) return
  rmSync(tools, { recursive: true, force: true })
  install()
  writeFileSync(mark, '')
}

/** Runs a program that needs a registry. Throws an UnavailableError when the last try fails. */
function download(command: string[], folder: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      run(command, folder)
      return
    } catch (cause) {
      const { message } = cause as Error
      if (!DOWNLOAD_FAILURES.test(message)) throw cause
      if (tries === DOWNLOAD_TRIES) throw new UnavailableError(message, { cause })
    }
  }
}

const DOWNLOAD_FAILURES =
  /ETIMEDOUT|ENOTFOUND|ECONNRE|EAI_AGAIN|no such host|dial tcp|handshake timeout|NewConnectionError/

function run([program = '', ...parameters]: string[], folder: string, more = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, parameters, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '', ...more },
    maxBuffer: 64 * 1_048_576,
    timeout: DOWNLOAD_MILLISECONDS_MAX,
  })
  const output = `${stdout ?? ''}${stderr ?? ''}`
  if (status === 0) return output
  const failure = `${program} ${parameters.slice(0, 3).join(' ')} failed: ${error?.message ?? ''}`
  throw new Error(`${failure}\n${output.slice(-4_000)}`)
}

function digest(parts: readonly (Buffer | string)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 16)
}
