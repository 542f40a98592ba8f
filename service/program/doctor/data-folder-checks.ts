import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Settings } from '../../runtime/settings/settings.ts'
import { error, type Finding, ok, skipped, warning } from './finding.ts'

/** The folder with the generated secrets and, without `DATABASE_URL`, the store. */
export function checkDataFolder({ dataDirectory }: Pick<Settings, 'dataDirectory'>): Finding[] {
  return [
    checkWritable(dataDirectory),
    checkPermissions(dataDirectory),
    checkFreeSpace(dataDirectory),
  ]
}

function checkWritable(folder: string): Finding {
  const check = 'data_folder.writable'
  const existing = nearestExisting(folder)
  try {
    if (!statSync(existing).isDirectory()) throw new Error('not a folder')
    accessSync(existing, constants.W_OK | constants.X_OK)
  } catch {
    return error(
      check,
      `This account cannot write the data folder ${folder}.`,
      'Let the account of the service write it, or set SIGNALBOX_DATA_DIR to another folder.',
    )
  }
  if (existing !== folder) return ok(check, `The first start creates the data folder ${folder}.`)
  return ok(check, `The data folder is ${folder}.`)
}

const SECRETS = ['credentials.json', 'credential-key', 'contract-key', 'outbox']
const OTHERS = 0o077

/** The files hold keys, and emails of the outbox hold links that open accounts. */
function checkPermissions(folder: string): Finding {
  const check = 'data_folder.permissions'
  const open = SECRETS.map(name => join(folder, name)).filter(
    path => existsSync(path) && (statSync(path).mode & OTHERS) !== 0,
  )
  if (open.length === 0) return ok(check, 'Only their owner can read the secrets of the folder.')
  return error(
    check,
    `Other accounts of this machine may read secrets: ${open.join(', ')}.`,
    `Run chmod go= on them, and replace the secrets if other people use this machine.`,
  )
}

const MEGABYTE = 1_048_576
const FREE_MEGABYTES = { error: 256, warning: 2_048 }
const FREE_PERCENT_WARNING = 10

function checkFreeSpace(folder: string): Finding {
  const check = 'data_folder.disk'
  const { blocks, bavail, bsize } = statfsSync(nearestExisting(folder))
  if (blocks === 0) return skipped(check, 'This file system does not say how much is free.')
  const megabytes = Math.floor((bavail * bsize) / MEGABYTE)
  const percent = Math.floor((100 * bavail) / blocks)
  const message = `${megabytes} MB are free on the disk of the data folder (${percent} %).`
  const fix = 'Free space, or move the data folder to a larger disk while the service is stopped.'
  if (megabytes < FREE_MEGABYTES.error) return error(check, message, fix)
  const isLow = megabytes < FREE_MEGABYTES.warning || percent < FREE_PERCENT_WARNING
  return isLow ? warning(check, message, fix) : ok(check, message)
}

/** The folder itself, or the one above it that the first start would create it in. */
function nearestExisting(path: string): string {
  let existing = path
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  return existing
}
