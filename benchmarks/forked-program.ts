import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

export interface ForkedProgram {
  processId: number
  /** The first thing that the program tells us. */
  message: unknown
  stop(): Promise<void>
}

export interface ForkRequest {
  /** A file of this folder. */
  program: string
  /** What it is told at its start, if anything. */
  order?: object
  answerSecondsMax: number
}

/**
 * Starts one of the benchmarks' own programs and waits for its first message. The channel ends
 * with this process, and with the channel the program, so nothing is left over.
 */
export async function forkProgram(request: ForkRequest): Promise<ForkedProgram> {
  const child = fork(join(import.meta.dirname, request.program), { stdio: 'inherit' })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  try {
    if (request.order) child.send(request.order)
    return { processId: child.pid as number, message: await firstMessage(child, request), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function firstMessage(
  child: ChildProcess,
  { program, answerSecondsMax }: ForkRequest,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const alarm = setTimeout(
    () => reject(new Error(`${program} said nothing for ${answerSecondsMax} seconds`)),
    answerSecondsMax * 1_000,
  )
  child.once('message', resolve)
  child.once('error', reject)
  child.once('exit', code => reject(new Error(`${program} ended with code ${code}`)))
  return promise.finally(() => clearTimeout(alarm))
}
