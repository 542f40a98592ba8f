import { setTimeout as delay } from 'node:timers/promises'
import { PLATFORM_PARTS } from '../../graph-simulator/platform-parts.ts'
import { scriptFaults, scriptPlatformFaults } from '../fixtures/simulator.ts'
import type { Installation } from './installation.ts'
import { toFaultRule, toPartRule } from './platform-failures.ts'
import type { Fault } from './schedule.ts'

/** Each part of the simulator beside the Graph API, with its own errors. */
export const PART_SCRIPTS = PLATFORM_PARTS.map(({ controls }) => {
  const path = Object.keys(controls).find(one => one.endsWith('/faults'))
  if (path === undefined) throw new Error('a part of the simulator has no faults')
  return scriptPlatformFaults(path.split('/').at(-2) as string)
})

/** A table grows by some pages at a time, so it takes a while until the server needs another. */
const FULL_DISK_FACTOR = 3

/** Causes one fault for as long as it lasts, and ends it; the installation has to recover. */
export async function injectFault(installation: Installation, fault: Fault): Promise<void> {
  const { processes, store, simulator } = installation
  const { milliseconds } = fault
  switch (fault.fault) {
    case 'kill process':
      return processes.get(fault.process)?.end('SIGKILL', milliseconds)
    case 'restart process':
      return processes.get(fault.process)?.end('SIGTERM', milliseconds)
    case 'freeze process':
      return processes.get(fault.process)?.freeze(milliseconds)
    case 'step clock':
      processes.get(fault.process)?.setClock({ wallSeconds: fault.seconds })
      return delay(milliseconds)
    case 'kill store':
      return store.kill(milliseconds)
    case 'restart store':
      return store.restart(milliseconds)
    case 'kill store connection':
      return store.killConnection()
    case 'freeze store':
      return store.freezeConnections(milliseconds)
    case 'promote standby':
      return store.failOver(milliseconds)
    case 'exhaust store connections':
      return store.exhaustConnections(milliseconds)
    case 'fill disk':
      return store.fillDisk(FULL_DISK_FACTOR * milliseconds)
    case 'break network': {
      const proxies = installation.proxies[fault.link]
      for (const proxy of proxies) proxy.setMode(fault.mode)
      await delay(milliseconds)
      for (const proxy of proxies) proxy.reset()
      return
    }
    case 'fail platform': {
      const { failures, seed } = fault
      const rulesOf = (toRule: typeof toPartRule | typeof toFaultRule) =>
        failures.map((failure, index) => toRule(failure, seed + index))
      await scriptFaults(simulator.url, rulesOf(toFaultRule))
      for (const script of PART_SCRIPTS) await script(simulator.url, rulesOf(toPartRule))
      await delay(milliseconds)
      for (const script of [scriptFaults, ...PART_SCRIPTS]) await script(simulator.url, [])
      return
    }
  }
}
