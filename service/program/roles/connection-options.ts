import type { Command } from 'commander'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { Platform, TargetConfig } from '../../signals/platforms/platform.ts'
import { listAddresses } from '../../signals/platforms/plug-ins.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import { readPlatformToken } from '../provisioning/credentials-file.ts'
import type { ConnectedDestination } from '../provisioning/provision-tracker.ts'
import { collectTargetMember, parseChoiceOf, parseDataset } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable } from './terminal-table.ts'

/** A destination as arguments name it. */
export interface ConnectionRequest {
  /** The platform's name. */
  platform: string
  config: TargetConfig
  /** A path, or `-` for standard input. */
  tokenFrom: string
}

export interface ConnectionOptions {
  dataset?: TargetConfig
  platform?: string
  target: TargetConfig
  tokenFrom?: string
}

/** The options that name a platform, where to send there, and with which credential. */
export function addConnectionOptions(command: Command, platforms: PlatformRegistry): Command {
  const names = platforms.all.map(({ name }) => name)
  return command
    .option('--dataset <digits>', 'dataset ID to send to, for Meta', parseDataset)
    .option(
      '--platform <name>',
      `platform of the destination: ${names.join(', ')}; the first by default`,
      parseChoiceOf('--platform', names),
    )
    .option(
      '--target <name=value>',
      'where to send at the platform, as "destination platforms" lists it; may repeat',
      collectTargetMember,
      {},
    )
    .option('--token-from <file>', 'file that holds the token, or - for standard input')
}

/** Commands never call a platform: they run where only the store can be reached. */
export const TOKEN_NOT_CHECKED =
  'The token is not checked yet: the platform checks it with the first event, or with a test ' +
  'purchase.\n'

/** Throws a StartError that names what is missing, and where the platform shows it. */
export function readConnectionRequest(
  platforms: PlatformRegistry,
  { dataset, target, tokenFrom, platform: name = platforms.default.name }: ConnectionOptions,
): ConnectionRequest {
  const platform = platforms.find(name) ?? platforms.default
  const config = { ...dataset, ...target }
  assertKnownMembers(platform, config)
  const missing = findMissing(platform, { config, tokenFrom })
  if (missing.length > 0 || tokenFrom === undefined) {
    throw new StartError(`${platform.label} needs more to be connected:\n${toLines(missing)}`)
  }
  if (platform.parseTarget(config) !== null) return { platform: name, config, tokenFrom }
  const given = platform.targetFields.filter(({ name, isValid }) => {
    const value = config[name]
    return name in config && !(typeof value === 'string' && isValid(value.trim()))
  })
  throw new StartError(
    `${platform.label} cannot send to ${JSON.stringify(config)}:\n${toLines(given.map(toRow))}`,
  )
}

function assertKnownMembers({ label, targetFields }: Platform, config: TargetConfig): void {
  const names = targetFields.map(({ name }) => name)
  const unknown = Object.keys(config).find(name => !names.includes(name))
  if (unknown === undefined) return
  throw new StartError(`${label} has no ${unknown}: --target takes ${names.join(', ')}.`)
}

/**
 * A platform itself refuses every event for a target of the simulator, so such a destination is not
 * created. A simulator has no TLS. Throws a StartError that names what the platform needs.
 */
export function refuseSimulatorTarget(
  settings: Pick<Settings, 'pluginValues'>,
  platform: Platform,
): void {
  const address = listAddresses(settings).find(({ plugIn }) => plugIn.name === platform.name)
  if (!address?.url.startsWith('https:')) return
  const { variable } = address.plugIn.address
  const needed = findMissing(platform, { config: {}, tokenFrom: undefined })
  throw new StartError(
    `${variable} is ${new URL(address.url).origin}, which refuses the target of a simulator. ` +
      `Name where ${platform.label} gets the events:\n${toLines(needed)}\n` +
      `Or set ${variable} to the address of a simulator.`,
  )
}

interface Given {
  config: TargetConfig
  tokenFrom: string | undefined
}

function findMissing(platform: Platform, { config, tokenFrom }: Given): string[][] {
  const fields = platform.targetFields.filter(
    ({ name, optional = false }) => !optional && !(name in config),
  )
  return [...fields.map(toRow), ...(tokenFrom === undefined ? tokenRows(platform) : [])]
}

function toRow({ name, label, hint, optional = false }: Platform['targetFields'][number]) {
  return [`--target ${name}=VALUE`, `${label}${optional ? ' (optional)' : ''}. ${hint}`]
}

/** Each kind of credential that the platform takes, the recommended one first. */
function tokenRows({ credentialForms }: Platform): string[][] {
  return credentialForms.map(({ label, hint }, index) => [
    index === 0 ? '--token-from FILE' : '  or',
    `${label}. ${hint}`,
  ])
}

function toLines(rows: readonly string[][]): string {
  return formatTable(rows.map(([option = '', text = '']) => [`  ${option}`, text])).trimEnd()
}

/** What each platform asks for, and where it shows the values. */
export function describePlatforms({ all }: Pick<PlatformRegistry, 'all'>): string {
  return all
    .map(platform => {
      const { name, label, targetFields, conversionTargets: map } = platform
      const names = map ? [['--routing FILE', `${map.label}. ${map.hint}`]] : []
      const rows = [...targetFields.map(toRow), ...tokenRows(platform), ...names]
      return `${label}: --platform ${name}\n${toLines(rows)}\n`
    })
    .join('\n')
}

/** Reads the credential, which the platform's form has to take. */
export async function readConnection(
  { standardInput }: Pick<RoleContext, 'standardInput'>,
  { tokenFrom, ...target }: ConnectionRequest,
  platforms: PlatformRegistry,
): Promise<ConnectedDestination> {
  const platform = platforms.find(target.platform) ?? platforms.default
  const accessToken = await readPlatformToken(tokenFrom, standardInput, platform)
  return { ...target, accessToken }
}
