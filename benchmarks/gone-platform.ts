import { randomInt } from 'node:crypto'
import { serviceLog } from '../service/roles/service-log.ts'
import { type SimulatorProcess, startSimulatorProcess } from '../service/roles/simulator-process.ts'

/** A simulator that is not there: its address refuses connections until it comes back. */
export interface GonePlatform {
  url: string
  /** Starts it at its address and returns the time. */
  comeBack(): Promise<Date>
  stop(): Promise<void>
}

/**
 * Below the ports that systems give to whoever asks for any: from among those, somebody had taken
 * ours before ten minutes were over.
 */
const PORTS = { from: 20_000, to: 30_000 }
const TRIES_MAX = 20

export async function gonePlatform(): Promise<GonePlatform> {
  const { url, stop } = await startSomewhere()
  await stop()
  let stopReturned = async () => {}
  return {
    url,
    comeBack: async () => {
      const returned = await startAt(Number(new URL(url).port))
      if (!returned) throw new Error(`while it was gone, ${url} was taken by others`)
      stopReturned = returned.stop
      return new Date()
    },
    stop: () => stopReturned(),
  }
}

async function startSomewhere(): Promise<SimulatorProcess> {
  for (let count = 0; count < TRIES_MAX; count += 1) {
    const started = await startAt(randomInt(PORTS.from, PORTS.to))
    if (started) return started
  }
  throw new Error(`no free port from ${PORTS.from} on`)
}

/** Null when the port is taken; the simulator goes elsewhere then, which is of no use here. */
async function startAt(port: number): Promise<SimulatorProcess | null> {
  const simulator = await startSimulatorProcess(port, serviceLog('error'))
  if (new URL(simulator.url).port === String(port)) return simulator
  await simulator.stop()
  return null
}
