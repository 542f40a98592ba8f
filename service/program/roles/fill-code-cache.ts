import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { useBundledLibraries } from './bundled-libraries.ts'
import { CODE_CACHE_FOLDER, enableCodeCache, flushCodeCache } from './compile-cache.ts'

/**
 * `npm ci` runs this, so that already the first start loads compiled code: it is ready sooner and
 * takes 75 MB less, because no thread loads Node's TypeScript compiler. Starts what `npm start`
 * starts, up to where it needs a store.
 */
if (import.meta.main) {
  const startedAt = performance.now()
  try {
    await fillCodeCache()
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    process.stdout.write(`Compiled the service in ${seconds} s.\n`)
  } catch (error) {
    // The first start compiles it then, and shows what is wrong.
    process.stdout.write(`The service was not compiled in advance: ${error}\n`)
  }
}

async function fillCodeCache(): Promise<void> {
  useBundledLibraries()
  enableCodeCache()
  if (CODE_CACHE_FOLDER !== null) process.env.NODE_COMPILE_CACHE = CODE_CACHE_FOLDER
  await Promise.all([runMain(), runSimulator(), import('./run-all.ts'), import('./run-serve.ts')])
  flushCodeCache()
  await loadThreads()
}

async function runMain(): Promise<void> {
  const path = fileURLToPath(new URL('../../main.ts', import.meta.url))
  await once(spawn(process.execPath, [path, '--help'], { stdio: 'ignore' }), 'exit')
}

async function runSimulator(): Promise<void> {
  const { createLogger } = await import('../../runtime/http/logger.ts')
  const { startSimulatorProcess } = await import('./simulator-process.ts')
  const simulator = await startSimulatorProcess(0, createLogger('silent'))
  await simulator.stop()
}

/** An HTTP worker has flags of V8, and so a cache of its own. */
async function loadThreads(): Promise<void> {
  const { checkAuthAdapter, spawnHttpThread } = await import('./http-worker-supervisor.ts')
  await checkAuthAdapter()
  const thread = spawnHttpThread('http')
  thread.postMessage({ kind: 'close' })
  await once(thread, 'exit')
}
