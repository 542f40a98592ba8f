import { readPluginSetting, type Settings } from '../../runtime/settings/settings.ts'
import { AccessTokens } from './access-tokens/client.ts'
import { GOOGLE_ADS_PLUG_IN } from './google-ads/settings.ts'
import { LINKEDIN_PLUG_IN } from './linkedin/settings.ts'
import { META_PLUG_IN } from './meta/settings.ts'
import { MICROSOFT_ADS_PLUG_IN } from './microsoft-ads/settings.ts'
import { OPENAI_ADS_PLUG_IN } from './openai-ads/settings.ts'
import { PINTEREST_PLUG_IN } from './pinterest/settings.ts'
import type { Platform } from './platform.ts'
import type { AddressSetting, PlatformPlugIn, PlugInContext } from './plug-in.ts'
import { REDDIT_PLUG_IN } from './reddit/settings.ts'
import { SNAPCHAT_PLUG_IN } from './snapchat/settings.ts'
import { TIKTOK_PLUG_IN } from './tiktok/settings.ts'
import { WEBHOOK_PLUG_IN } from './webhook/settings.ts'

/** One line for each platform. The first one is the default. */
export const PLATFORM_PLUG_INS: readonly PlatformPlugIn[] = [
  META_PLUG_IN,
  GOOGLE_ADS_PLUG_IN,
  PINTEREST_PLUG_IN,
  TIKTOK_PLUG_IN,
  SNAPCHAT_PLUG_IN,
  OPENAI_ADS_PLUG_IN,
  LINKEDIN_PLUG_IN,
  REDDIT_PLUG_IN,
  MICROSOFT_ADS_PLUG_IN,
  WEBHOOK_PLUG_IN,
]

/** The tables of all plug-ins, for `readSettings`. */
export const PLATFORM_SETTINGS = PLATFORM_PLUG_INS.map(({ settings }) => settings)

export function createPlatforms(context: PlugInContext): PlatformRegistry {
  const platforms = PLATFORM_PLUG_INS.map(plugIn => plugIn.create(context))
  return new PlatformRegistry(platforms, new AccessTokens(context))
}

/** The platforms at the simulator, with the defaults of their settings. */
export function createSimulatorPlatforms(
  options: Omit<PlugInContext, 'settings'>,
): PlatformRegistry {
  return createPlatforms({ ...options, settings: { pluginValues: {} } })
}

/** The platforms for a process that does not send events. */
export function createOfflinePlatforms(): PlatformRegistry {
  return createSimulatorPlatforms({
    simulatorUrl: null,
    timeoutMilliseconds: 1,
    now: () => new Date(0),
  })
}

export interface PlatformAddress {
  plugIn: PlugInWithAddress
  url: string
}

/** A plug-in whose platform has one address for all destinations. */
export type PlugInWithAddress = PlatformPlugIn & { address: AddressSetting }

export const PLUG_INS_WITH_ADDRESS: readonly PlugInWithAddress[] = PLATFORM_PLUG_INS.flatMap(
  plugIn => (plugIn.address === null ? [] : [{ ...plugIn, address: plugIn.address }]),
)

/** The platforms that have an address, and the address. Empty: the simulator is used, or none. */
export function listAddresses(settings: Pick<Settings, 'pluginValues'>): PlatformAddress[] {
  return PLUG_INS_WITH_ADDRESS.flatMap(plugIn => {
    const url = readPluginSetting(settings, plugIn.address)
    return url === undefined ? [] : [{ plugIn, url }]
  })
}

/** Some platforms, such as those of a tracker. */
export type SelectedPlatforms = Pick<PlatformRegistry, 'all' | 'default' | 'names'>

/** For platforms that send nothing. */
const NO_CLOCK = { now: () => new Date(0), timeoutMilliseconds: 1 }

/** The platforms that this process knows, by name. */
export class PlatformRegistry {
  readonly all: readonly Platform[]
  /** Of every plug-in, selected or not. */
  readonly names: ReadonlySet<string>
  /** For a destination that names no platform, and for events of trackers without destinations. */
  readonly default: Platform
  /** The minted access tokens of this process. */
  readonly accessTokens: AccessTokens

  constructor(platforms: readonly Platform[], accessTokens = new AccessTokens(NO_CLOCK)) {
    const [first] = platforms
    if (!first) throw new Error('a registry needs a platform')
    const names = new Set(platforms.map(({ name }) => name))
    if (names.size < platforms.length) throw new Error('two platforms have one name')
    const marks = new Set(platforms.map(({ identityMark }) => identityMark))
    if (marks.size < platforms.length) throw new Error('two platforms have one identity mark')
    this.all = platforms
    this.names = names
    this.default = first
    this.accessTokens = accessTokens
  }

  /** Null if no plug-in of this process has this name. */
  find(name: string): Platform | null {
    return this.all.find(platform => platform.name === name) ?? null
  }

  /**
   * The platforms with these names that are known here, in their order. The default stays where it
   * is one of them: the version before reads the identity of an event as the default's.
   */
  select(names: Iterable<string>): SelectedPlatforms {
    const all = [...new Set(names)].flatMap(name => this.find(name) ?? [])
    const isDefaultSelected = all.some(({ name }) => name === this.default.name)
    const { names: known } = this
    return { all, default: (isDefaultSelected ? null : all[0]) ?? this.default, names: known }
  }

  /** A registry of the same platforms, each wrapped. */
  map(wrap: (platform: Platform) => Platform): PlatformRegistry {
    return new PlatformRegistry(this.all.map(wrap), this.accessTokens)
  }
}
