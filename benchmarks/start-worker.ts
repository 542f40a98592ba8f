import type { BenchStore } from './bench-store.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'

export interface WorkerRequest {
  simulatorUrl: string
  batchEvents: number
}

/** Starts `node service/main.ts deliver` on this store; all but these settings are the default. */
export function startWorker(
  { dataDirectory }: BenchStore,
  { simulatorUrl, batchEvents }: WorkerRequest,
): Promise<ServiceProcess> {
  return startServiceProcess({
    role: 'deliver',
    dataDirectory,
    settings: {
      SIGNALBOX_PLATFORM_URL: simulatorUrl,
      SIGNALBOX_DELIVERY_BATCH_MAX: String(batchEvents),
    },
  })
}
