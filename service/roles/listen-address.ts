import { StartError } from './role.ts'

/** Where a server should have listened, and which settings said so. */
interface ListenAddress {
  host: string
  port: number
  variables: { host: string; port: string }
}

/** The sentence for an address or a port that cannot be had. */
export function createListenError(cause: unknown, place: ListenAddress): StartError {
  return new StartError(explainListenError(cause as NodeJS.ErrnoException, place), { cause })
}

function explainListenError(
  { code }: NodeJS.ErrnoException,
  { host, port, variables: set }: ListenAddress,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken by another program: set ${set.port} to a free one.`
    case 'EACCES':
      return `Port ${port} needs more rights than this user has: set ${set.port} to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}: set ${set.host} to one of its own.`
    default:
      return `Cannot listen on ${host}:${port} (${code ?? 'unknown reason'}).`
  }
}

/** An address that means "all of them" cannot be called; this machine can call itself. */
export function formatUrlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
