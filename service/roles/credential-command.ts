import { parseArgs } from 'node:util'
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
      /** Null: the one that it has. */
      datasetId: string | null
      /** A path, or `-` for standard input. */
      tokenFrom: string
    }

const USAGE =
  'Usage: npm run credential -- list | reseal | ' +
  'set --destination ID [--tracker ID] [--dataset DIGITS] --from FILE|-'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Meta's dataset ids are numbers of about 16 digits; the id becomes a part of a URL's path. */
const DATASET_ID = /^\d{1,20}$/

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

/** Throws a StartError for what cannot be a dataset's id. */
export function requireDatasetId(option: string): string {
  if (DATASET_ID.test(option)) return option
  throw new StartError(`--dataset takes the digits of a dataset id, not ${option}.`)
}

function setCommand(options: string[]): CredentialCommand {
  const { destination, tracker, dataset, from } = setOptions(options)
  if (!destination || !from) throw new StartError(USAGE)
  return {
    kind: 'set',
    destinationId: requireId('--destination', destination),
    trackerId: tracker === undefined ? null : requireId('--tracker', tracker),
    datasetId: dataset === undefined ? null : requireDatasetId(dataset),
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
