import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import type { TestServiceOptions } from '../../../testing/fixtures/service-start.ts'
import { runCli } from '../src/run-cli.ts'

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

interface RunOptions {
  input?: string
  environment?: Record<string, string>
  signal?: AbortSignal
}

interface CliFixture {
  service: TestService
  /** Home of the person, and a place for files. */
  folder: string
  baseUrl: string
  /** Of a process of its own: the token, the address and the home of the person. */
  environment: Record<string, string>
  /** Runs the program in this process, with the token and the address of the service. */
  run: (argumentList: string[], options?: RunOptions) => Promise<CommandResult>
}

/** The program beside a real service, on the clock of the service. */
export async function startCli(
  test: TestContext,
  options: TestServiceOptions = {},
): Promise<CliFixture> {
  const service = await startTestService(test, options)
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-cli-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const baseUrl = `${service.url}/api/v1`
  const access = { SIGNALBOX_TOKEN: service.tracker.trackerSecret, SIGNALBOX_BASE_URL: baseUrl }
  const run = (argumentList: string[], options: RunOptions = {}) =>
    runInProcess(argumentList, {
      folder,
      now: service.clock.now,
      ...options,
      environment: options.environment ?? access,
    })
  return { service, folder, baseUrl, environment: { ...access, HOME: folder }, run }
}

interface ProcessOptions extends RunOptions {
  folder: string
  now: () => Date
}

export async function runInProcess(
  argumentList: string[],
  { folder, now, input = '', environment = {}, signal }: ProcessOptions,
): Promise<CommandResult> {
  let [stdout, stderr] = ['', '']
  const code = await runCli(argumentList, {
    environment,
    homeFolder: folder,
    userId: process.getuid?.() ?? null,
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: {
      isTerminal: false,
      width: () => null,
      write: async text => {
        stdout += text
      },
    },
    stderr: {
      isTerminal: false,
      width: () => null,
      write: async text => {
        stderr += text
      },
    },
    now,
    signal: signal ?? new AbortController().signal,
  })
  return { code, stdout, stderr }
}
