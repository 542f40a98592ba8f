import { Session } from 'node:inspector/promises'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'

/** What the program gives to every role. */
export interface RoleContext {
  settings: Settings
  logger: ServiceLogger
  now: () => Date
  /** Messages for the operator: standard error. The log has a stream of its own. */
  printStatus: (text: string) => void
  /** The result of a command: standard output. */
  printOutput: (text: string) => void
  standardInput: AsyncIterable<Buffer>
  /** Ends the program: something that the role depends on is gone. The sentence names it. */
  onFatal: (sentence: string) => void
}

/** A role that runs until it is closed. */
export interface RunningRole {
  close(): Promise<void>
}

/** The program cannot start, or a command cannot be carried out. The message is one sentence. */
export class StartError extends Error {
  override name = 'StartError'
}

/** Closes everything in reverse order, and continues when one of them fails. */
export async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers.toReversed()) {
    await close().catch(error => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything closed cleanly')
}

/** The address of a server, and the settings that name it. */
interface ListenAddress {
  host: string
  port: number
  variables: { host: string; port: string }
}

/** Explains why a server cannot listen. */
export function createListenError(cause: unknown, place: ListenAddress): StartError {
  return new StartError(explainListenError(cause as NodeJS.ErrnoException, place), { cause })
}

function explainListenError(
  { code }: NodeJS.ErrnoException,
  { host, port, variables }: ListenAddress,
): string {
  const name = variables.port
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken by another program: set ${name} to a free one.`
    case 'EACCES':
      return `Port ${port} needs more rights than this user has: set ${name} to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}: set ${variables.host} to one of its own.`
    default:
      return `Cannot listen on ${host}:${port} (${code ?? 'unknown reason'}).`
  }
}

/** The host part of a URL. An address that means all interfaces is called through loopback. */
export function formatUrlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/**
 * Returns to the system the memory that loading the program took, for the thread that calls it.
 * Loading leaves a large young generation and code that ran once, and V8 keeps both for as long as
 * little is allocated: 143 MB of `npm start` (docs/operations/memory.md). `gc()` frees the objects
 * and keeps the pages; the collection for a heap profile drops the pages too.
 *
 * It stops the thread for 65 ms, or longer on a busy machine, so call it at the end of the start,
 * before requests arrive.
 */
export async function releaseStartMemory(): Promise<void> {
  if (!process.features.inspector) return
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
