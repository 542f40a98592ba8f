import { integer, matching } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const TIKTOK_SETTINGS = {
  tiktokUrl: apiAddress(
    'SIGNALBOX_TIKTOK_URL',
    'TikTok Events API to deliver to (TikTok: https://business-api.tiktok.com). ' +
      'Unset: the simulator.',
  ),
  tiktokVersion: matching('SIGNALBOX_TIKTOK_VERSION', {
    pattern: /^v\d+\.\d+$/,
    requirement: 'look like v1.3',
    default: 'v1.3',
    description: 'Version of the TikTok Business API in every request.',
  }),
  tiktokWindowDays: integer('SIGNALBOX_TIKTOK_WINDOW_DAYS', {
    min: 1,
    max: 28,
    default: 7,
    description:
      'Days after which an event is too old for TikTok. Sources differ: 7, or 28. An event that ' +
      'TikTok finds too old refuses its whole request.',
  }),
}

export const TIKTOK_PLUG_IN: PlatformPlugIn = {
  name: 'tiktok',
  label: 'TikTok',
  settings: TIKTOK_SETTINGS,
  address: TIKTOK_SETTINGS.tiktokUrl,
  productionUrl: 'https://business-api.tiktok.com',
  load: async () => {
    const { tiktokPlatform } = await import('./client.ts')
    return context =>
      tiktokPlatform({
        baseUrl: findAddress({ address: TIKTOK_SETTINGS.tiktokUrl }, context),
        version: readPluginSetting(context.settings, TIKTOK_SETTINGS.tiktokVersion),
        windowDays: readPluginSetting(context.settings, TIKTOK_SETTINGS.tiktokWindowDays),
        timeoutMilliseconds: context.timeoutMilliseconds,
      })
  },
}
