import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a process holds on to, after everything that nobody needs is gone. */
export interface ProcessFootprint {
  /** Objects, and the bytes of buffers, which stand beside the heap. */
  heldBytes: number
  /** Sockets, timers and the like that keep it running, by kind. */
  resources: ReadonlyMap<string, number>
}

export function processFootprint(): ProcessFootprint {
  collectGarbage()
  const resources = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) {
    resources.set(kind, (resources.get(kind) ?? 0) + 1)
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heldBytes: heapUsed + arrayBuffers, resources }
}

/** Node shows its collector only to whoever asks at the start, or this way. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
}
