#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import type { Output } from './host.ts'

// The modules of the program are loaded after this.
enableCompileCache?.()
const { runCli } = await import('./run-cli.ts')

const interruption = new AbortController()
// The first Ctrl-C ends requests and prints what is known; a second one ends the process.
process.once('SIGINT', () => interruption.abort())

const exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  homeFolder: homedir(),
  userId: process.getuid?.() ?? null,
  stdin: process.stdin,
  stdout: toOutput(process.stdout),
  stderr: toOutput(process.stderr),
  now: () => new Date(),
  signal: interruption.signal,
})
process.exitCode = exitCode
// A terminal or a pipe that still has data to read must not keep the process.
process.stdin.destroy()

function toOutput(stream: NodeJS.WriteStream): Output {
  // The reader of a pipe, such as `head`, has what it wanted.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  return {
    isTerminal: stream.isTTY === true,
    width: () => stream.columns ?? null,
    write: text => new Promise(resolve => void stream.write(text, () => resolve())),
  }
}
