import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { normalizeOriginPattern, ORIGINS_MAX } from '../access/origin-pattern.ts'
import type { KeyKind } from '../access/tracker-keys.ts'
import { requireId } from './credential-command.ts'
import { StartError } from './start-error.ts'

/** What `key` is asked to do. */
export type KeyCommand = { trackerId: string } & (
  | { task: 'list' }
  | { task: 'issue'; kind: KeyKind; origins: string[]; path: string }
  | { task: 'revoke'; lastCharacters: string; kind: KeyKind | null }
)

const USAGE =
  'Usage: npm run key -- list --tracker ID | ' +
  'issue --tracker ID --kind publishable|forwarding|secret [--origin ORIGIN]... --out FILE | ' +
  'revoke --tracker ID --last CHARACTERS [--kind KIND]'

/** The kinds as people name them, since every one of them is a tracker's. */
const KINDS = new Map<string, KeyKind>([
  ['publishable', 'publishable'],
  ['forwarding', 'forwarding'],
  ['secret', 'tracker_secret'],
])

/** A kind as the command names it. */
export function kindName(kind: string): string {
  for (const [name, known] of KINDS) if (known === kind) return name
  return kind
}

/** Throws a StartError: how the command is used, or which option is wrong. */
export function keyCommand([task, ...rest]: readonly string[]): KeyCommand {
  const options = optionsOf(rest)
  const { tracker } = options
  if (!tracker) throw new StartError(USAGE)
  const only = (...names: string[]) => {
    const strange = Object.keys(options).filter(name => !['tracker', ...names].includes(name))
    if (strange.length > 0) throw new StartError(USAGE)
    return { trackerId: requireId('--tracker', tracker) }
  }
  switch (task) {
    case 'list':
      return { ...only(), task }
    case 'issue':
      return { ...only('kind', 'origin', 'out'), task, ...issueOptions(options) }
    case 'revoke':
      return { ...only('kind', 'last'), task, ...revokeOptions(options) }
    default:
      throw new StartError(USAGE)
  }
}

/** The form in which origins are kept. Throws a StartError for what cannot be one. */
export function requireOrigins(options: readonly string[]): string[] {
  if (options.length > ORIGINS_MAX) {
    throw new StartError(`A publishable key has at most ${ORIGINS_MAX} origins.`)
  }
  return options.map(option => {
    const pattern = normalizeOriginPattern(option)
    if (pattern !== null) return pattern
    throw new StartError(
      '--origin takes what browsers send, such as https://shop.example, or one of the wildcards ' +
        `https://*.shop.example and http://127.0.0.1:*, not ${option}.`,
    )
  })
}

type Options = ReturnType<typeof optionsOf>

function issueOptions({ kind, origin = [], out }: Options) {
  const known = KINDS.get(kind ?? '')
  if (!known || !out) throw new StartError(USAGE)
  if (origin.length > 0 && known !== 'publishable') {
    throw new StartError('--origin is for publishable keys alone.')
  }
  return { kind: known, origins: requireOrigins(origin), path: resolve(out) }
}

function revokeOptions({ kind, last }: Options) {
  const known = kind === undefined ? null : KINDS.get(kind)
  if (!last || known === undefined) throw new StartError(USAGE)
  return { lastCharacters: last, kind: known }
}

function optionsOf(list: string[]) {
  try {
    return parseArgs({
      args: list,
      options: {
        tracker: { type: 'string' },
        kind: { type: 'string' },
        origin: { type: 'string', multiple: true },
        out: { type: 'string' },
        last: { type: 'string' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
