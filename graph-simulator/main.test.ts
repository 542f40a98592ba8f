import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

const MAIN = join(import.meta.dirname, 'main.ts')
const ENDING_MS_MAX = 10_000

it('prints one JSON line with its address and responds there', async test => {
  const program = start(test, {})
  const { listening } = JSON.parse(await firstLine(program))
  assert.match(listening, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal((await fetch(`${listening}/_simulator/health`)).status, 200)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  it(`ends with exit code 0 at ${signal}, also while a connection is open`, async test => {
    const program = start(test, {})
    const { listening } = JSON.parse(await firstLine(program))
    await fetch(`${listening}/_simulator/health`)
    program.kill(signal)
    assert.deepEqual(await once(program, 'exit'), [0, null])
  })
}

it('exits with 1 and one sentence when the port is in use', async test => {
  const { listening } = JSON.parse(await firstLine(start(test, {})))
  const { port } = new URL(listening)
  const second = start(test, { SIMULATOR_PORT: port })
  const complaint = await allText(second)
  assert.match(
    complaint,
    new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is already in use\\. .+\\.\n$`),
  )
  assert.equal(second.exitCode, 1)
})

it('exits with 1 and one sentence when the host is not of this machine', async test => {
  const program = start(test, { SIMULATOR_HOST: '192.0.2.1' })
  const complaint = await allText(program)
  assert.match(complaint, /^SIMULATOR_HOST 192\.0\.2\.1 is not an address of this machine\.\n$/)
  assert.equal(program.exitCode, 1)
})

it('exits with 1 and one sentence for an invalid setting', async test => {
  const program = start(test, { SIMULATOR_EVENTS_MAX: 'many' })
  assert.match(await allText(program), /^SIMULATOR_EVENTS_MAX must be an integer .+\.\n$/)
  assert.equal(program.exitCode, 1)
})

it('exits when its standard input ends, with --exit-with-parent', async test => {
  const program = start(test, {}, ['--exit-with-parent'])
  await firstLine(program)
  program.stdin?.end()
  assert.deepEqual(await once(program, 'exit'), [0, null])
})

it('keeps running when its standard input ends, without --exit-with-parent', async test => {
  const program = start(test, {})
  const { listening } = JSON.parse(await firstLine(program))
  program.stdin?.end()
  await wait(300)
  assert.equal((await fetch(`${listening}/_simulator/health`)).status, 200)
})

it('leaves no orphan when its parent is killed', async test => {
  const parent = spawn(process.execPath, ['--eval', PARENT, MAIN], {
    env: { ...process.env, SIMULATOR_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  test.after(() => parent.kill('SIGKILL'))
  const { listening } = JSON.parse(await firstLine(parent))
  assert.equal((await fetch(`${listening}/_simulator/health`)).status, 200)

  parent.kill('SIGKILL')
  const deadline = performance.now() + ENDING_MS_MAX
  while ((await answers(listening)) && performance.now() < deadline) await wait(20)
  assert.equal(await answers(listening), false)
})

/** A parent that starts the simulator like the tests of the service, and keeps running. */
const PARENT = `
  const child = require('node:child_process').spawn(
    process.execPath,
    [process.argv[1], '--exit-with-parent'],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  child.stdout.pipe(process.stdout)
  setInterval(() => undefined, 1000)
`

function start(test: TestContext, environment: Record<string, string>, flags: string[] = []) {
  const program = spawn(process.execPath, [MAIN, ...flags], {
    env: { ...process.env, SIMULATOR_PORT: '0', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  test.after(() => program.kill('SIGKILL'))
  return program
}

async function firstLine(program: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of program.stdout ?? []) {
    text += chunk
    if (text.includes('\n')) break
  }
  return text
}

/** The complete output of a program, on both streams. */
async function allText(program: ChildProcess): Promise<string> {
  let text = ''
  for (const stream of [program.stdout, program.stderr])
    stream?.on('data', chunk => {
      text += chunk
    })
  await once(program, 'close')
  return text
}

/** Whether the simulator still listens. A zombie does not. */
async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/_simulator/health`)).ok
  } catch {
    return false
  }
}
