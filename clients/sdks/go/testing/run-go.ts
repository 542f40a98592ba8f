import { execFile, spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { download, findProgram, openToolchain } from '../../../../testing/toolchains.ts'

/** The module of the SDK. */
export const MODULE = join(import.meta.dirname, '..')
const CACHE = join(MODULE, '../../../node_modules/.cache/go')
const OUTPUT_BYTES_MAX = 64 * 1_048_576
/** A cold cache compiles the standard library, twice with the race detector. */
export const GO_MILLISECONDS_MAX = 400_000

/** Never a result of the cache, and the stack of a test that hangs. */
export const GO_TEST = ['-count=1', '-timeout=120s']

export interface Finished {
  code: number
  stdout: string
  /** Both streams, for the message of a failed assertion. */
  output: string
}

export interface GoRun {
  folder?: string
  environment?: Record<string, string>
}

/** Go, found on PATH, with a cache that can be written and without a network. */
export interface Go {
  /** 25 for Go 1.25. */
  minorVersion: number
  /** Whether the race detector can be linked, which needs a C compiler. */
  hasRaceDetector: boolean
  run(parameters: readonly string[], run?: GoRun): Promise<Finished>
}

/**
 * Null, and the test is skipped, when Go is not there. `needs` is the folder of a module with
 * dependencies, without which it is skipped too.
 */
export function openGo(test: TestContext, needs?: string): Go | null {
  return openToolchain(test, 'go', () => {
    const program = findProgram('go')
    const offline = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '', GOPROXY: 'off' }
    const settings = readSettings(program, offline)
    const caches = ownCaches(settings)
    const environment = { ...offline, ...caches }
    if (needs) {
      const variables = Object.entries(caches).map(([name, value]) => `${name}=${value}`)
      download(['env', ...variables, program, 'mod', 'download'], needs)
    }
    return {
      minorVersion: Number(/^go1\.(\d+)/.exec(settings.GOVERSION)?.[1] ?? 0),
      hasRaceDetector: canLinkRaceDetector(settings),
      run: (parameters, { folder = MODULE, environment: more = {} } = {}) =>
        finish([program, ...parameters], { cwd: folder, env: { ...environment, ...more } }),
    }
  })
}

export function temporaryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-go-'))
  test.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** An empty module with one program that uses the SDK from its folder. */
export function writeModule(folder: string, program: string): void {
  const module = 'github.com/signalbox-events/signalbox/clients/sdks/go'
  const lines = [
    'module example.com/shop',
    'go 1.23',
    `require ${module} v0.5.0`,
    `replace ${module} => ${MODULE}`,
  ]
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'go.mod'), `${lines.join('\n\n')}\n`)
  writeFileSync(join(folder, 'main.go'), program)
}

function finish(
  [program = '', ...parameters]: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Finished> {
  const options = { cwd, env, maxBuffer: OUTPUT_BYTES_MAX, timeout: GO_MILLISECONDS_MAX }
  return new Promise(resolve => {
    const child = execFile(program, parameters, options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}${error && child.exitCode === null ? error.message : ''}`
      resolve({ code: child.exitCode ?? 1, stdout, output })
    })
  })
}

const SETTINGS = ['GOVERSION', 'GOCACHE', 'GOMODCACHE', 'CGO_ENABLED', 'CC'] as const
type Settings = Record<(typeof SETTINGS)[number], string>

function readSettings(program: string, env: NodeJS.ProcessEnv): Settings {
  const { stdout } = spawnSync(program, ['env', '-json', ...SETTINGS], { env, encoding: 'utf8' })
  return JSON.parse(stdout)
}

/** Caches below node_modules for those of Go that cannot be written. */
function ownCaches({ GOCACHE, GOMODCACHE }: Settings): Record<string, string> {
  return {
    ...(!isWritable(GOCACHE) && { GOCACHE: join(CACHE, 'build') }),
    ...(!isWritable(GOMODCACHE) && { GOMODCACHE: join(CACHE, 'modules') }),
  }
}

function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function canLinkRaceDetector({ CGO_ENABLED, CC }: Settings): boolean {
  return CGO_ENABLED === '1' && spawnSync(CC, ['--version']).status === 0
}
