import { createSeededRandom, type SeededRandom } from '../fixtures/seeded-random.ts'
import { PLATFORM_FAILURE_NAMES, type PlatformFailure } from './platform-failures.ts'
import type { ProxyMode } from './tcp-proxy.ts'

/** The service processes of a campaign: one of each role that runs until a signal. */
export const PROCESS_NAMES = ['all', 'serve', 'deliver'] as const
export type ProcessName = (typeof PROCESS_NAMES)[number]

/** Where a proxy stands: clients to the service, the service to PostgreSQL, and to the platform. */
export type Link = 'clients' | 'store' | 'platform'

/** One fault. A process or store that ends is started again after `milliseconds`. */
export type Fault = { milliseconds: number } & (
  | { fault: 'kill process' | 'freeze process' | 'restart process'; process: ProcessName }
  | { fault: 'step clock'; process: ProcessName; seconds: number }
  | { fault: 'kill store' | 'restart store' | 'kill store connection' | 'freeze store' }
  | { fault: 'promote standby' }
  | { fault: 'exhaust store connections' | 'fill disk' }
  | { fault: 'break network'; link: Link; mode: ProxyMode }
  | { fault: 'fail platform'; failures: PlatformFailure[]; seed: number }
)
export type FaultName = Fault['fault']

interface ScheduleOptions {
  length: number
  capabilities: Capabilities
  /** The faults to choose from. Default: all of them. */
  only?: readonly FaultName[] | undefined
}

/** The faults with these names; null when one of them is not known. */
export function parseFaultNames(names: readonly string[]): FaultName[] | null {
  const known = names.filter((name): name is FaultName => Object.hasOwn(WEIGHTS, name))
  return known.length === names.length && known.length > 0 ? known : null
}

/** What this machine can do; the others are left out of a schedule and named in the report. */
export type Capabilities = Readonly<Record<'fill disk' | 'promote standby', boolean>>

export interface Schedule {
  seed: number
  faults: Fault[]
}

/**
 * How often each fault comes. A process takes 2 to 3 CPU seconds to start and a promotion copies
 * the store, so these come less often than faults that take no time to repair.
 */
const WEIGHTS = {
  'kill process': 4,
  'restart process': 2,
  'freeze process': 4,
  'step clock': 6,
  'kill store': 2,
  'restart store': 1,
  'kill store connection': 3,
  'freeze store': 4,
  'promote standby': 1,
  'exhaust store connections': 3,
  'fill disk': 3,
  'break network': 14,
  'fail platform': 14,
} as const satisfies Record<FaultName, number>

const CLOCK_STEPS_SECONDS = [-240, -30, -2, -0.5, 0.5, 2, 30, 240, 3_600]
const LINKS: readonly Link[] = ['clients', 'store', 'store', 'platform', 'platform']
const NETWORK_MODES: readonly ProxyMode[] = [
  { mode: 'refuse' },
  { mode: 'delay', milliseconds: 20 },
  { mode: 'delay', milliseconds: 250 },
  { mode: 'swallow', direction: 'request' },
  { mode: 'swallow', direction: 'response' },
  { mode: 'half-close', direction: 'request' },
  { mode: 'half-close', direction: 'response' },
]

/** The same faults for the same seed and capabilities. */
export function createSchedule(
  seed: number,
  { length, capabilities, only }: ScheduleOptions,
): Schedule {
  const random = createSeededRandom(seed)
  const faults: Fault[] = []
  while (faults.length < length) {
    const name = random.weighted(WEIGHTS)
    if (only && !only.includes(name)) continue
    const isPossible = !(name in capabilities) || capabilities[name as keyof Capabilities]
    if (isPossible) faults.push(randomFault(random, name))
  }
  return { seed, faults }
}

function randomFault(random: SeededRandom, fault: FaultName): Fault {
  const milliseconds = random.integer(100, 900)
  switch (fault) {
    case 'kill process':
    case 'restart process':
    case 'freeze process':
      return { fault, process: random.pick(PROCESS_NAMES), milliseconds }
    case 'step clock': {
      const seconds = random.pick(CLOCK_STEPS_SECONDS)
      return { fault, process: random.pick(PROCESS_NAMES), seconds, milliseconds }
    }
    case 'kill store':
    case 'restart store':
    case 'kill store connection':
    case 'freeze store':
    case 'promote standby':
    case 'exhaust store connections':
    case 'fill disk':
      return { fault, milliseconds }
    case 'break network':
      return { fault, link: random.pick(LINKS), mode: random.pick(NETWORK_MODES), milliseconds }
    case 'fail platform': {
      const count = random.integer(1, 3)
      const failures = Array.from({ length: count }, () => random.pick(PLATFORM_FAILURE_NAMES))
      return { fault, failures, seed: random.integer(1, 1_000_000), milliseconds }
    }
  }
}

/** One line for people, such as `break network (store, swallow response) for 300 ms`. */
export function describeFault(fault: Fault): string {
  return `${describeKind(fault)} for ${fault.milliseconds} ms`
}

/** What a report counts: the fault with its target, without its times. */
export function describeKind(fault: Fault): string {
  switch (fault.fault) {
    case 'kill process':
    case 'restart process':
    case 'freeze process':
      return `${fault.fault} (${fault.process})`
    case 'step clock':
      return `step clock (${fault.process}, ${fault.seconds} s)`
    case 'break network': {
      const { mode, ...details } = fault.mode
      return `break network (${[fault.link, mode, ...Object.values(details)].join(', ')})`
    }
    case 'fail platform':
      return `fail platform (${fault.failures.join('; ')})`
    default:
      return fault.fault
  }
}
