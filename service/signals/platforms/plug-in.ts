import { url } from '../../runtime/settings/setting-types.ts'
import {
  readPluginSetting,
  type Settings,
  type SettingsTable,
} from '../../runtime/settings/settings.ts'
import type { Platform } from './platform.ts'

export type AddressSetting = ReturnType<typeof url>

/** What a plug-in exports to `plug-ins.ts`: its settings, and how to load its client. */
export interface PlatformPlugIn {
  /** The name of its `Platform`. */
  readonly name: string
  /** Its name for people. */
  readonly label: string
  /** Its settings, in their order on the page of settings. */
  readonly settings: SettingsTable
  /**
   * The one of `settings` that names the address of its API. Unset: nothing is sent to it. Null:
   * each destination names its own address.
   */
  readonly address: AddressSetting | null
  /** The version of its API that the settings name, and its end; left out: it has none. */
  readVersion?(settings: Pick<Settings, 'pluginValues'>): EndingVersion
  /** The address of the real platform, for advice. */
  readonly productionUrl: string
  /** Imports the client, so that a thread which needs the settings alone loads none. */
  load(): Promise<CreatePlatform>
}

export type CreatePlatform = (context: PlugInContext) => Platform

/** A version of an API that its platform serves for a time only. */
export interface EndingVersion {
  /** The setting that names it. */
  variable: string
  version: string
  endsAt: Date
}

/** What platforms are created from. */
export interface PlugInContext {
  settings: Pick<Settings, 'pluginValues'>
  /** The simulator, which stands for every platform; null without one. */
  simulatorUrl: string | null
  timeoutMilliseconds: number
  /** The clock of reports and of access tokens. */
  now: () => Date
}

/** The setting of the address of a platform's API. */
export function apiAddress(variable: string, description: string) {
  return url(variable, { part: given => given.replace(/\/+$/, ''), description })
}

/** Where access tokens are minted: at the simulator, or as the setting says. */
export function findTokenUrl(
  { settings, simulatorUrl }: Pick<PlugInContext, 'simulatorUrl' | 'settings'>,
  { setting, production }: { setting: AddressSetting; production: string },
): string {
  if (simulatorUrl !== null) return `${simulatorUrl}/token`
  return readPluginSetting(settings, setting) ?? production
}

/** No server listens here. Everything that needs no request still works. */
const NO_ADDRESS = 'http://127.0.0.1:9'

/** Where a plug-in sends its requests. */
export function findAddress(
  { address }: { address: AddressSetting },
  { simulatorUrl, settings }: Pick<PlugInContext, 'simulatorUrl' | 'settings'>,
): string {
  return simulatorUrl ?? readPluginSetting(settings, address) ?? NO_ADDRESS
}
