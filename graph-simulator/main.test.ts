import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

const MAIN = join(import.meta.dirname, 'main.ts')
const ENDING_MS_MAX = 10_000

it('prints one JSON line with its address when it listens, and answers there', async test => {
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

it('says in one sentence that the port is taken, with exit code 1', async test => {
  const { listening } = JSON.parse(await firstLine(start(test, {})))
  const { port } = new URL(listening)
  const second = start(test, { SIMULATOR_PORT: port })
  const complaint = await allText(second)
  assert.match(complaint, new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is taken; .+\\.\n$`))
  assert.equal(second.exitCode, 1)
})

it('says in one sentence that the host is none of this machine, with exit code 1', async test => {
  const program = start(test, { SIMULATOR_HOST: '192.0.2.1' })
  const complaint = await allText(program)
  assert.match(complaint, /^SIMULATOR_HOST 192\.0\.2\.1 is no address of this machine\.\n$/)
  assert.equal(program.exitCode, 1)
})

it('says in one sentence which setting is wrong, with exit code 1', async test => {
  const program = start(test, { SIMULATOR_EVENTS_MAX: 'many' })
  assert.match(await allText(program), /^SIMULATOR_EVENTS_MAX must be a whole number .+\.\n$/)
  assert.equal(program.exitCode, 1)
})

it('ends when its standard input ends, if asked to', async test => {
  const program = start(test, {}, ['--exit-with-parent'])
  await firstLine(program)
  program.stdin?.end()
  assert.deepEqual(await once(program, 'exit'), [0, null])
})

it('goes on when its standard input ends, if not asked to end', async test => {
  const program = start(test, {})
  const { listening } = JSON.parse(await firstLine(program))
  program.stdin?.end()
  await wait(300)
  assert.equal((await fetch(`${listening}/_simulator/health`)).status, 200)
})

it('leaves no orphan behind when its parent is killed', async test => {
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

/** A parent that starts the simulator as the service's tests do, and then only lives on. */
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

/** Everything a program says on both outputs until it ends. */
async function allText(program: ChildProcess): Promise<string> {
  let text = ''
  for (const stream of [program.stdout, program.stderr])
    stream?.on('data', chunk => {
      text += chunk
    })
  await once(program, 'close')
  return text
}

/** Whether something still listens; a process that only waits to be reaped does not. */
async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/_simulator/health`)).ok
  } catch {
    return false
  }
}
