import { StartError } from './role.ts'

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
