import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, it } from 'node:test'
import { readCommandLine, readProcessIdentity } from './process-identity.ts'

const started: ChildProcess[] = []

after(() => {
  for (const child of started) child.kill('SIGKILL')
})

async function sleeper(): Promise<ChildProcess & { pid: number }> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  started.push(child)
  await once(child, 'spawn')
  return child as ChildProcess & { pid: number }
}

it('is stable for a process and differs between two processes', async () => {
  const [first, second] = [await sleeper(), await sleeper()]
  assert.equal(typeof readProcessIdentity(first.pid), 'string')
  assert.equal(readProcessIdentity(first.pid), readProcessIdentity(first.pid))
  assert.notEqual(readProcessIdentity(first.pid), readProcessIdentity(process.pid))
  if (process.platform === 'linux') {
    assert.notEqual(readProcessIdentity(first.pid), readProcessIdentity(second.pid))
  }
})

it('is null for a process that exited and for an invalid process ID', async () => {
  const child = await sleeper()
  child.kill('SIGKILL')
  await once(child, 'exit')
  for (const processId of [child.pid, 0, -1, Number.NaN, 2 ** 40]) {
    assert.equal(readProcessIdentity(processId), null)
  }
})

it('is null for a zombie', { timeout: 20_000 }, async () => {
  // The child stays a zombie: after `exec` its parent is a sleep, which never waits for it.
  const script = 'sleep 0.1 & echo $!; exec sleep 60'
  const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] })
  started.push(parent)
  const processId = Number(String((await once(parent.stdout, 'data'))[0]))
  while (readProcessIdentity(processId) !== null) await new Promise(setImmediate)
  assert.doesNotThrow(() => process.kill(processId, 0), 'its process ID is still in use')
})

it('reads the arguments of a process', async () => {
  const child = await sleeper()
  assert.deepEqual(readCommandLine(child.pid), ['sleep', '60'])
  assert.equal(readCommandLine(2 ** 30), null)
})
