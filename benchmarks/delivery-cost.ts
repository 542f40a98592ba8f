import { familySeconds, type ProcessMemory, processMemory, processSeconds } from './process-cost.ts'

/** Processor seconds so far; null where there is no /proc. */
export interface CpuReading {
  worker: number | null
  store: number | null
}

export interface DeliveryCost {
  /** Processor time of a thousand deliveries. */
  workerCpuSeconds: number | null
  storeCpuSeconds: number | null
  /** The worker's. */
  memory: ProcessMemory | null
}

export interface DeliveryPrograms {
  storeProcessId: number
  /** Null before the worker is started, so that its start counts as delivery. */
  workerProcessId: number | null
}

export function readCpu({ storeProcessId, workerProcessId }: DeliveryPrograms): CpuReading {
  return {
    worker: workerProcessId === null ? 0 : processSeconds(workerProcessId),
    store: familySeconds(storeProcessId),
  }
}

export function deliveryCost(
  programs: DeliveryPrograms & { workerProcessId: number },
  before: CpuReading,
  events: number,
): DeliveryCost {
  const now = readCpu(programs)
  const perThousand = (to: number | null, from: number | null) =>
    to === null || from === null ? null : ((to - from) * 1_000) / events
  return {
    workerCpuSeconds: perThousand(now.worker, before.worker),
    storeCpuSeconds: perThousand(now.store, before.store),
    memory: processMemory(programs.workerProcessId),
  }
}
