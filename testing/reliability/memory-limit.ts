import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Limits the memory of one process and its children. */
export interface MemoryLimit {
  /** A process that writes its ID to this file is limited. */
  processesFile: string
  /** The most bytes in use at one time so far. */
  peakBytes(): number
  remove(): void
}

/** The control groups of Linux, version 1 and then 2. */
const VERSIONS = [
  {
    root: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    peak: 'memory.max_usage_in_bytes',
  },
  { root: '/sys/fs/cgroup', limit: 'memory.max', peak: 'memory.peak' },
] as const

/** Null where this account may not create a control group. */
export function createMemoryLimit(name: string, bytes: number): MemoryLimit | null {
  for (const { root, limit, peak } of VERSIONS) {
    const folder = join(root, `signalbox-reliability-${process.pid}-${name}`)
    try {
      mkdirSync(folder)
    } catch {
      continue
    }
    if (existsSync(join(folder, limit))) {
      writeFileSync(join(folder, limit), String(bytes))
      return {
        processesFile: join(folder, 'cgroup.procs'),
        peakBytes: () => Number(readFileSync(join(folder, peak), 'utf8')),
        remove: () => removeGroup(folder),
      }
    }
    removeGroup(folder)
  }
  return null
}

/** A group whose last process is still ending cannot be removed, and costs nothing. */
function removeGroup(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {}
}
