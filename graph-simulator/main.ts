import { readSettings } from './read-settings.ts'
import { startSimulator } from './simulator-server.ts'

const settings = readSettings(process.env, process.argv.slice(2))
if ('problem' in settings) fail(settings.problem)

const simulator = await startSimulator({ ...settings, now: () => new Date() }).catch(error => {
  const problem = describeListenError(error, settings)
  if (problem === undefined) throw error
  return fail(problem)
})

process.once('SIGTERM', stop)
process.once('SIGINT', stop)
if (settings.exitWithParent) process.stdin.resume().once('close', stop)
process.stdout.write(`${JSON.stringify({ listening: simulator.url })}\n`)

function stop(): void {
  void simulator.close().then(() => process.exit(0))
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

/** A message for an address that cannot be bound; undefined for any other error. */
function describeListenError(
  error: unknown,
  { host, port }: { host: string; port: number },
): string | undefined {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is already in use. Set SIMULATOR_PORT to another, or to 0.`
    case 'EACCES':
      return `Port ${port} on ${host} needs more privileges. Set SIMULATOR_PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `SIMULATOR_HOST ${host} is not an address of this machine.`
    default:
      return undefined
  }
}
