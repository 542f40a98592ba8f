import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { CODE_CACHE_FOLDER } from './compile-cache.ts'
import { StartError } from './role.ts'

const PROGRAM = fileURLToPath(import.meta.resolve('@signalbox/graph-simulator/main.ts'))

export interface SimulatorProcess {
  url: string
  /** Resolves with a sentence when the simulator exits without `stop`. */
  exited: Promise<string>
  stop(): Promise<void>
}

/**
 * Starts the bundled Graph API simulator as a separate process. It exits when this process ends in
 * any way, since its standard input closes. When the preferred port is taken, it uses any free one.
 */
export async function startSimulatorProcess(
  preferredPort: number,
  logger: ServiceLogger,
): Promise<SimulatorProcess> {
  try {
    return await spawnSimulator(preferredPort)
  } catch (error) {
    if (preferredPort === 0 || !(error instanceof StartError)) throw error
    logger.warn({ port: preferredPort }, 'the port for the simulator is taken; it uses another one')
    return spawnSimulator(0)
  }
}

async function spawnSimulator(port: number): Promise<SimulatorProcess> {
  const child = spawn(process.execPath, [PROGRAM, '--exit-with-parent'], {
    env: {
      SIMULATOR_HOST: '127.0.0.1',
      SIMULATOR_PORT: String(port),
      ...(CODE_CACHE_FOLDER !== null && { NODE_COMPILE_CACHE: CODE_CACHE_FOLDER }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let errorOutput = ''
  child.stderr.on('data', chunk => {
    errorOutput = `${errorOutput}${chunk}`.slice(-500)
  })
  let isStopping = false
  const url = await readAddress(child.stdout)
  if (url === null) {
    await ended
    throw new StartError(`The simulator did not start: ${errorOutput.trim()}`)
  }
  return {
    url,
    exited: new Promise(resolve => {
      ended.then(() => {
        if (!isStopping) resolve(`The simulator exited: ${errorOutput.trim() || 'no error output'}`)
      })
    }),
    stop: async () => {
      isStopping = true
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The address that the simulator prints when it is ready; null when it exits before that. */
async function readAddress(output: NodeJS.ReadableStream): Promise<string | null> {
  for await (const line of createInterface({ input: output })) {
    return (JSON.parse(line) as { listening: string }).listening
  }
  return null
}
