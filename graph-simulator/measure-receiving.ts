import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { samplePurchase } from './sample-event.ts'

/** Measures receiving over HTTP from another process: node measure-receiving.ts */
const REQUESTS = 600

const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
  env: { ...process.env, SIMULATOR_PORT: '0' },
  stdio: ['pipe', 'pipe', 'inherit'],
})
const [line] = await once(createInterface(program.stdout), 'line')
const url = `${JSON.parse(line).listening}/v26.0/1234/events`
const headers = { authorization: 'Bearer token-a', 'content-type': 'application/json' }

await measure('1,000 new purchases a request', 1_000, (request, index) => `new-${request}-${index}`)
await measure('1,000 purchases with one event_id', 1_000, () => 'one')
await measure('1 new purchase a request', 1, request => `single-${request}`)
const [, memory] =
  /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8')) ?? []
console.log(`memory with 500,000 events kept: ${Math.round(Number(memory) / 1_024)} MiB`)
program.kill()

async function measure(
  name: string,
  events: number,
  eventIdOf: (request: number, index: number) => string,
): Promise<void> {
  const tookMs: number[] = []
  const cpuBefore = cpuMs()
  for (let request = 0; request < REQUESTS; request++) {
    const body = createBody(events, index => eventIdOf(request, index))
    const start = performance.now()
    const response = await fetch(url, { method: 'POST', headers, body })
    await response.text()
    if (response.status !== 200) throw new Error(`The simulator answered ${response.status}.`)
    tookMs.push(performance.now() - start)
  }
  const cpu = (cpuMs() - cpuBefore) / REQUESTS
  const median = tookMs.sort((left, right) => left - right)[REQUESTS / 2] ?? Number.NaN
  console.log(`${name}: median ${median.toFixed(2)} ms, ${cpu.toFixed(2)} ms of CPU time`)
}

function createBody(events: number, eventIdOf: (index: number) => string): string {
  const event_time = Math.floor(Date.now() / 1_000)
  const event = (index: number) => samplePurchase({ event_time, event_id: eventIdOf(index) })
  return JSON.stringify({ data: Array.from({ length: events }, (_, index) => event(index)) })
}

/** CPU time of the simulator so far, from Linux's count of 10 ms ticks. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${program.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
