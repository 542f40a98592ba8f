import type { AddressInfo } from 'node:net'
import type { Database } from '../db/database.ts'
import type { Platform } from '../platforms/platform.ts'
import { createServer } from '../server.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

export interface HttpService {
  origin: string
  markReady(): void
  /** Answers what was asked and commits what was accepted; a client that stalls is cut off. */
  close(): Promise<void>
}

/** A body has at most 64 KiB, so one that takes longer is not coming. */
const DRAIN_MILLISECONDS_MAX = 5_000

export interface HttpOptions {
  database: Database
  platform: Platform
  onPlanned: () => void
}

/** Starts to listen. Throws a StartError when the port or the address cannot be had. */
export async function startHttp(
  { settings, logger, now }: RoleContext,
  { database, platform, onPlanned }: HttpOptions,
): Promise<HttpService> {
  let origin = settings.publicOrigin ?? ''
  const server = createServer({
    database,
    platform,
    logger,
    now,
    onPlanned,
    publicOrigin: () => origin,
    ingestQueueMax: settings.ingestQueueMax,
    commitEventsMax: settings.commitEventsMax,
  })
  const { host } = settings
  try {
    await server.app.listen({ host, port: settings.port })
  } catch (cause) {
    throw new StartError(listenSentence(cause as NodeJS.ErrnoException, host, settings.port), {
      cause,
    })
  }
  const { port } = server.app.server.address() as AddressInfo
  origin ||= `http://${urlHost(host)}:${port}`
  const close = async () => {
    const impatience = AbortSignal.timeout(DRAIN_MILLISECONDS_MAX)
    impatience.addEventListener('abort', () => server.app.server.closeAllConnections())
    await server.close()
  }
  return { origin, markReady: server.markReady, close }
}

/** An address that means "all of them" cannot be called; this machine can call itself. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

function listenSentence({ code }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken by another program: set PORT to a free one.`
    case 'EACCES':
      return `Port ${port} needs more rights than this user has: set PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}: set HOST to one of its own.`
    default:
      return `Cannot listen on ${host}:${port} (${code ?? 'unknown reason'}).`
  }
}
