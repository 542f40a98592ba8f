import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/**
 * Identifies a process for its lifetime and never again, even when the system reuses its ID: the ID
 * with the time of the start. Null when no such process runs; a zombie does not run.
 */
export function readProcessIdentity(processId: number): string | null {
  if (!Number.isSafeInteger(processId) || processId <= 0) return null
  if (!hasProcFolder()) return runPs(processId, 'lstart=')
  const stat = readProc(processId, 'stat')
  if (stat === null) return null
  // The name, in parentheses, may contain spaces and parentheses; fields follow the last one.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startTicks = fields[18]
  if (state === 'Z' || state === 'X' || startTicks === undefined) return null
  return `${bootId()}:${processId}:${startTicks}`
}

/** The arguments of a running process, or null when they cannot be read. */
export function readCommandLine(processId: number): string[] | null {
  if (!hasProcFolder()) return runPs(processId, 'command=')?.split(' ') ?? null
  const line = readProc(processId, 'cmdline')
  return line ? line.split('\0').slice(0, -1) : null
}

function hasProcFolder(): boolean {
  return existsSync('/proc/self/stat')
}

function readProc(processId: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${processId}/${name}`, 'utf8')
  } catch {
    return null
  }
}

/** Ticks count from the boot, so processes of two boots could have the same ID and ticks. */
function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function runPs(processId: number, column: string): string | null {
  try {
    const answer = execFileSync('ps', ['-ww', '-o', column, '-p', String(processId)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return answer.trim() || null
  } catch {
    return null
  }
}
