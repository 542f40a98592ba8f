import assert from 'node:assert/strict'
import { it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { createLogger, type LogFormat, openLogStream } from './logger.ts'

async function writeLines(format: LogFormat | undefined, isTerminal: boolean): Promise<string> {
  let text = ''
  const output = {
    write: (line: string) => {
      text += line
    },
  }
  const logger = createLogger('info', await openLogStream(format, { isTerminal, output }))
  logger.info({ folder: '/srv', authorization: 'Bearer secret' }, 'emails are written')
  logger.child({ worker: 1 }).error({ err: new Error('broken') }, 'request failed')
  assert.doesNotMatch(text, /secret/)
  return text
}

it('writes JSON where standard output is not a terminal', async () => {
  const text = await writeLines(undefined, false)
  const [info, error] = text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
  assert.deepEqual([info.level, info.msg, info.folder], ['info', 'emails are written', '/srv'])
  assert.deepEqual([error.level, error.worker, error.err.message], ['error', 1, 'broken'])
})

it('writes readable lines to a terminal', async () => {
  const text = await writeLines(undefined, true)
  assert.notEqual(stripVTControlCharacters(text), text, 'in color')
  const [info, error, ...stack] = stripVTControlCharacters(text).split('\n')
  assert.match(info ?? '', /^\[\d\d:\d\d:\d\d\] INFO: emails are written \{"folder":"\/srv",/)
  assert.match(error ?? '', /^\[\d\d:\d\d:\d\d\] ERROR: request failed \{"worker":1\}$/)
  assert.match(stack.join('\n'), /Error: broken\n +at /)
})

it('LOG_FORMAT overrides the terminal', async () => {
  assert.match(await writeLines('json', true), /^\{"level":"info"/)
  const text = await writeLines('pretty', false)
  assert.match(text, /^\[\d\d:\d\d:\d\d\] INFO: emails are written/)
  assert.equal(stripVTControlCharacters(text), text, 'without color')
})
