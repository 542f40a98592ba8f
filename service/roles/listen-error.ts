import { StartError } from './start-error.ts'

/** Where a server should have listened, and which settings said so. */
export interface ListeningPlace {
  host: string
  port: number
  variables: { host: string; port: string }
}

/** The sentence for an address or a port that cannot be had. */
export function listenError(cause: unknown, place: ListeningPlace): StartError {
  return new StartError(sentenceOf(cause as NodeJS.ErrnoException, place), { cause })
}

function sentenceOf(
  { code }: NodeJS.ErrnoException,
  { host, port, variables: set }: ListeningPlace,
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
