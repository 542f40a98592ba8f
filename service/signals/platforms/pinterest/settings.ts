import { matching } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const PINTEREST_SETTINGS = {
  pinterestUrl: apiAddress(
    'SIGNALBOX_PINTEREST_URL',
    'Pinterest API to deliver to (Pinterest: https://api.pinterest.com). Unset: the simulator.',
  ),
  pinterestVersion: matching('SIGNALBOX_PINTEREST_VERSION', {
    pattern: /^v\d+$/,
    requirement: 'look like v5',
    default: 'v5',
    description: 'Version of the Pinterest API in every request.',
  }),
}

export const PINTEREST_PLUG_IN: PlatformPlugIn = {
  name: 'pinterest',
  label: 'Pinterest',
  settings: PINTEREST_SETTINGS,
  address: PINTEREST_SETTINGS.pinterestUrl,
  productionUrl: 'https://api.pinterest.com',
  load: async () => {
    const { pinterestPlatform } = await import('./client.ts')
    return context =>
      pinterestPlatform({
        baseUrl: findAddress({ address: PINTEREST_SETTINGS.pinterestUrl }, context),
        version: readPluginSetting(context.settings, PINTEREST_SETTINGS.pinterestVersion),
        timeoutMilliseconds: context.timeoutMilliseconds,
      })
  },
}
