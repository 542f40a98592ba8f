import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  digest,
  download,
  findProgram,
  installOnce,
  installPython,
  type Language,
  runTool,
} from '../toolchains.ts'
import { GO_PROGRAM, PYTHON_PROGRAM, TYPESCRIPT_PROGRAM } from './client-programs.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const DOCUMENT = join(ROOT, 'contract', 'openapi.json')
const CACHE = join(ROOT, 'node_modules', '.cache', 'generated-clients')
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'

/**
 * Generates the client of one language from the contract and compiles it with a program that uses
 * it. Generators are pinned and installed below `node_modules/.cache`. A result is kept for the
 * same contract, generator and program. Throws an error with the output of the step that failed.
 */
export function checkClient(language: Language, program = findProgram(language)): void {
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

const CLIENTS: Record<Language, Client> = {
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
      runTool(
        [program, bin('openapi-typescript/bin/cli.js'), DOCUMENT, '-o', 'schema.d.ts'],
        folder,
      )
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TYPESCRIPT_PROJECT))
      runTool([program, bin('typescript/bin/tsc'), '--project', folder], folder)
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
      requireNoWarnings(runTool(generator, folder, { PATH }))
      writeFileSync(join(folder, 'usage.py'), PYTHON_PROGRAM)
      runTool([bin('python'), '-m', 'compileall', '-q', 'signalbox'], folder)
      runTool([bin('python'), 'usage.py'], folder)
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
      runTool([program, 'vet', './...'], folder)
    },
  },
}

/** Strict, and without the types of our own packages, which stand in folders above. */
const TYPESCRIPT_PROJECT = {
  compilerOptions: { strict: true, noEmit: true, allowImportingTsExtensions: true, types: [] },
  files: ['usage.ts', 'schema.d.ts'],
}

/** A warning says that the client lacks something. */
function requireNoWarnings(output: string): void {
  const warnings = output.match(/^(WARNING|ERROR) .*$/gm) ?? []
  if (warnings.length === 0) return
  throw new Error(`openapi-python-client warns of something new:\n${output.slice(0, 4_000)}`)
}
