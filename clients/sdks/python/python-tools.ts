import { type ExecFileException, execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { findProgram, installPinnedPython, openToolchain } from '../../../testing/toolchains.ts'

const HERE = import.meta.dirname
export const CACHE = join(HERE, '../../../node_modules/.cache')

/** A Python with the packages of the lock. Null when it is missing, which skips the test. */
export function openPython(test: TestContext): string | null {
  return openToolchain(test, 'python', () =>
    installPinnedPython(findProgram('python'), join(HERE, 'requirements', 'development.txt')),
  )
}

export const PIP = ['-m', 'pip', '--disable-pip-version-check', '--quiet']

interface RunOptions {
  environment?: NodeJS.ProcessEnv
  folder?: string
}

/** Runs Python in this folder and returns what it printed. Throws an error with all of it. */
export function runPython(
  python: string,
  parameters: readonly string[],
  { environment = {}, folder = HERE }: RunOptions = {},
): Promise<string> {
  const env = {
    ...process.env,
    SIGNALBOX_TOKEN: '',
    SIGNALBOX_BASE_URL: '',
    PYTHONPATH: join(HERE, 'src'),
    // No compiled files beside the source.
    PYTHONDONTWRITEBYTECODE: '1',
    ...environment,
  }
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const done = (error: ExecFileException | null, stdout: string, stderr: string) => {
    if (error) reject(new Error(`python ${parameters.join(' ')}\n${stdout}${stderr}`))
    else resolve(stdout)
  }
  const child = execFile(python, parameters, { cwd: folder, env, maxBuffer: 2 ** 26 }, done)
  child.stdin?.end()
  return promise
}

export function temporaryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-python-'))
  test.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Builds the package in a copy, which keeps this folder clean; returns the path of the wheel. */
export async function buildWheel(python: string, folder: string): Promise<string> {
  const source = join(folder, 'source')
  mkdirSync(source)
  for (const name of ['pyproject.toml', 'README.md', 'LICENSE', 'src']) {
    cpSync(join(HERE, name), join(source, name), { recursive: true })
  }
  const output = join(folder, 'wheel')
  const options = ['--no-deps', '--no-build-isolation', '--wheel-dir', output, '.']
  await runPython(python, [...PIP, 'wheel', ...options], { folder: source })
  return join(output, readdirSync(output)[0] ?? '')
}

/** The programs of README.md, from its fences. */
export function readmePrograms(): string[] {
  const readme = readFileSync(join(HERE, 'README.md'), 'utf8')
  return [...readme.matchAll(/```python\n(.*?)```/gs)].map(([, program = '']) => program)
}
