import { matching } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const META_SETTINGS = {
  platformUrl: apiAddress(
    'SIGNALBOX_PLATFORM_URL',
    'Graph API to deliver to (Meta: https://graph.facebook.com). Unset: the simulator.',
  ),
  platformVersion: matching('SIGNALBOX_PLATFORM_VERSION', {
    pattern: /^v\d+\.\d+$/,
    requirement: 'look like v26.0',
    default: 'v26.0',
    description: 'Graph API version of every request.',
  }),
}

export const META_PLUG_IN: PlatformPlugIn = {
  name: 'meta',
  label: 'Meta',
  settings: META_SETTINGS,
  address: META_SETTINGS.platformUrl,
  productionUrl: 'https://graph.facebook.com',
  load: async () => {
    const { metaPlatform } = await import('./client.ts')
    return context =>
      metaPlatform({
        baseUrl: findAddress({ address: META_SETTINGS.platformUrl }, context),
        version: readPluginSetting(context.settings, META_SETTINGS.platformVersion),
        timeoutMilliseconds: context.timeoutMilliseconds,
        now: context.now,
      })
  },
}
