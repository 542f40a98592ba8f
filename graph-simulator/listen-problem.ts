/** One sentence for an address that cannot be listened on; undefined for any other error. */
export function listenProblem(
  error: unknown,
  { host, port }: { host: string; port: number },
): string | undefined {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken; set SIMULATOR_PORT to another, or to 0 for any.`
    case 'EACCES':
      return `Port ${port} on ${host} needs more rights; set SIMULATOR_PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `SIMULATOR_HOST ${host} is no address of this machine.`
    default:
      return undefined
  }
}
