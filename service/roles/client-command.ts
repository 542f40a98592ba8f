import { parseArgs } from 'node:util'
import { parseDisplayName } from '../oauth/display-name.ts'
import { StartError } from './start-error.ts'

/** What `client` is asked to do. */
export type ClientCommand = { task: 'list' } | { task: 'add'; name: string }

const USAGE = 'Usage: npm run client -- list | add --name NAME'
const NAME_CHARACTERS_MAX = 100

/** Throws a StartError: how the command is used, or what is wrong with the name. */
export function clientCommand([task, ...rest]: readonly string[]): ClientCommand {
  const { name } = optionsOf(rest)
  if (task === 'list' && name === undefined) return { task }
  if (task !== 'add' || name === undefined) throw new StartError(USAGE)
  const line = parseDisplayName(name, NAME_CHARACTERS_MAX)
  if (line !== null) return { task, name: line }
  throw new StartError(
    `--name takes one visible line of at most ${NAME_CHARACTERS_MAX} characters.`,
  )
}

function optionsOf(list: string[]) {
  try {
    return parseArgs({ args: list, options: { name: { type: 'string' } } }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
