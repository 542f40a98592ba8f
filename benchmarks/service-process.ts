import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** The service as a user starts it, in one of its roles. */
export interface ServiceProcess {
  processId: number
  /** The address in the line that the role prints when it is ready. */
  url: string
  stop(): Promise<void>
}

export interface ServiceRequest {
  role: 'all' | 'serve' | 'deliver'
  dataDirectory: string
  /** Settings beside the data folder; nothing of our own environment gets in. */
  settings?: Record<string, string>
}

const MAIN = join(import.meta.dirname, '..', 'service', 'main.ts')
const NO_LIMIT = { SIGNALBOX_TRACKER_RATE_PER_SECOND: '0' }
const READY_LINE = /^Signalbox (?:is ready at|serves at|delivers to) (\S+)$/
const COMPLAINT_CHARACTERS_MAX = 2_000

/** Starts `node service/main.ts ROLE` and waits until it says that it is ready. */
export async function startServiceProcess(request: ServiceRequest): Promise<ServiceProcess> {
  const { role, dataDirectory, settings } = request
  const child = spawn(process.execPath, [MAIN, role], {
    // One tracker sends all there is; no limit stands between it and what the service can do.
    env: { ...NO_LIMIT, PORT: '0', SIGNALBOX_DATA_DIR: dataDirectory, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let lastWords = ''
  const listen = (chunk: Buffer) => {
    lastWords = `${lastWords}${chunk}`.slice(-COMPLAINT_CHARACTERS_MAX)
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const url = await Promise.race([readyUrl(child.stderr), ended])
  if (!url) {
    await ended
    throw new Error(`The role ${role} did not start: ${lastWords.trim()}`)
  }
  return {
    processId: child.pid as number,
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function readyUrl(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input: output })
  return new Promise(resolve => {
    lines.on('line', line => {
      const [, url] = READY_LINE.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
  })
}
