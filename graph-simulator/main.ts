import { listenProblem } from './listen-problem.ts'
import { readSettings } from './read-settings.ts'
import { startSimulator } from './simulator-server.ts'

const settings = readSettings(process.env, process.argv.slice(2))
if ('problem' in settings) fail(settings.problem)

const simulator = await startSimulator({ ...settings, now: () => new Date() }).catch(error => {
  const problem = listenProblem(error, settings)
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

function fail(sentence: string): never {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
