import { serviceLog } from '../service/roles/service-log.ts'
import { startSimulatorProcess } from '../service/roles/simulator-process.ts'

/** As many as the service keeps in flight to one destination, and to all together, by default. */
const LANE_REQUESTS_MAX = 2
const REQUESTS_MAX = 8

/**
 * Posts ready-made bodies to a simulator of its own, without store, queue or settlement. Returns
 * the seconds from the first request to the last answer: the pipe that delivery cannot outrun.
 */
export async function measureBarePipe(bodies: readonly string[], lanes: number): Promise<number> {
  const simulator = await startSimulatorProcess(0, serviceLog('warn'))
  try {
    const waiting = [...bodies]
    const inFlight = Math.min(lanes * LANE_REQUESTS_MAX, REQUESTS_MAX)
    const start = performance.now()
    await Promise.all(Array.from({ length: inFlight }, () => postAll(simulator.url, waiting)))
    return (performance.now() - start) / 1_000
  } finally {
    await simulator.stop()
  }
}

async function postAll(simulatorUrl: string, waiting: string[]): Promise<void> {
  for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) {
    const response = await fetch(`${simulatorUrl}/v26.0/1234567890/events`, {
      method: 'POST',
      headers: { authorization: 'Bearer simulator-pipe', 'content-type': 'application/json' },
      body,
    })
    const answer = await response.text()
    if (response.status !== 200) throw new Error(`the simulator refused the peer: ${answer}`)
  }
}
