import { readPluginSetting, type Settings } from '../../runtime/settings/settings.ts'
import { GOOGLE_ADS_PLUG_IN } from './google-ads/settings.ts'
import { LINKEDIN_PLUG_IN } from './linkedin/settings.ts'
import { META_PLUG_IN } from './meta/settings.ts'
import { MICROSOFT_ADS_PLUG_IN } from './microsoft-ads/settings.ts'
import { OPENAI_ADS_PLUG_IN } from './openai-ads/settings.ts'
import { PINTEREST_PLUG_IN } from './pinterest/settings.ts'
import type { AddressSetting, PlatformPlugIn } from './plug-in.ts'
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
