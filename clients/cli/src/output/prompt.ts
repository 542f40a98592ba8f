import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { CliError, createUsageError } from '../cli-error.ts'
import type { CliHost } from '../host.ts'

const INPUT_CHARACTERS_MAX = 65_536

/** Asks on the terminal without showing what is typed. */
export async function askSecret(host: CliHost, question: string): Promise<string> {
  await host.stderr.write(question)
  const answer = await readLine(host)
  await host.stderr.write('\n')
  return answer.trim()
}

/** Asks a question that only `y` and `yes` answer with yes. */
export async function confirm(host: CliHost, question: string): Promise<boolean> {
  await host.stderr.write(`${question} [y/N] `)
  const answer = await readLine(host, text => host.stderr.write(text))
  return /^y(es)?$/i.test(answer.trim())
}

/** All of standard input, such as a token from a file. */
export async function readInput(host: CliHost): Promise<string> {
  let text = ''
  host.stdin.setEncoding('utf8')
  for await (const chunk of host.stdin) {
    text += chunk
    if (text.length > INPUT_CHARACTERS_MAX) {
      throw createUsageError('Standard input is too long: it must have at most 64 KiB.')
    }
  }
  return text
}

/** One line; `echo` shows what is typed. Throws when it is interrupted or ends. */
function readLine(
  { stdin, signal }: CliHost,
  echo: (text: string) => unknown = () => {},
): Promise<string> {
  const output = new Writable({
    write(chunk, _encoding, done) {
      echo(String(chunk))
      done()
    },
  })
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdin, output, terminal: true })
    const interrupt = () => {
      lines.close()
      reject(new CliError('interrupted', 'Interrupted.'))
    }
    signal.addEventListener('abort', interrupt, { once: true })
    lines.once('SIGINT', interrupt)
    lines.once('line', line => {
      resolve(line)
      lines.close()
    })
    lines.once('close', () => reject(new CliError('interrupted', 'Interrupted.')))
  })
}
