import { parseArgs } from 'node:util'
import type { TargetConfig } from '../platforms/platform.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import { StartError } from './start-error.ts'

/** What `credential` is asked to do. */
export type CredentialCommand =
  | { kind: 'list' }
  | { kind: 'reseal' }
  | {
      kind: 'set'
      destinationId: string
      /** Null: whichever tracker has the destination. */
      trackerId: string | null
      /** What changes of where it sends; nothing when empty. */
      config: TargetConfig
      /** A path, or `-` for standard input. */
      tokenFrom: string
    }

const USAGE =
  'Usage: npm run credential -- list | reseal | ' +
  'set --destination ID [--tracker ID] [--dataset DIGITS] --from FILE|-'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Throws a StartError: how the command is used, or which option is wrong. */
export function credentialCommand([kind, ...rest]: readonly string[]): CredentialCommand {
  switch (kind) {
    case 'list':
    case 'reseal':
      if (rest.length > 0) throw new StartError(USAGE)
      return { kind }
    case 'set':
      return setCommand(rest)
    default:
      throw new StartError(USAGE)
  }
}

/**
 * Reads `--dataset`, where a destination of the default platform sends. Throws a StartError for
 * what is no dataset ID.
 */
export function readDataset(option: string): TargetConfig {
  const config = { dataset_id: option }
  if (createOfflinePlatforms().default.parseTarget(config) !== null) return config
  throw new StartError(`--dataset takes the digits of a dataset id, not ${option}.`)
}

function setCommand(options: string[]): CredentialCommand {
  const { destination, tracker, dataset, from } = setOptions(options)
  if (!destination || !from) throw new StartError(USAGE)
  return {
    kind: 'set',
    destinationId: requireId('--destination', destination),
    trackerId: tracker === undefined ? null : requireId('--tracker', tracker),
    config: dataset === undefined ? {} : readDataset(dataset),
    tokenFrom: from,
  }
}

function setOptions(options: string[]) {
  try {
    return parseArgs({
      args: options,
      options: {
        destination: { type: 'string' },
        tracker: { type: 'string' },
        dataset: { type: 'string' },
        from: { type: 'string' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}

/** Throws a StartError for what cannot be an id of ours. */
export function requireId(option: string, id: string): string {
  if (UUID.test(id)) return id.toLowerCase()
  throw new StartError(`${option} takes an id as "npm run credential -- list" shows it, not ${id}.`)
}
