import { matching, url } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, findTokenUrl, type PlatformPlugIn } from '../plug-in.ts'

const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token'

export const GOOGLE_ADS_SETTINGS = {
  googleAdsUrl: apiAddress(
    'SIGNALBOX_GOOGLE_ADS_URL',
    'Data Manager API to deliver to (Google: https://datamanager.googleapis.com). ' +
      'Unset: the simulator.',
  ),
  googleAdsVersion: matching('SIGNALBOX_GOOGLE_ADS_VERSION', {
    pattern: /^v\d+$/,
    requirement: 'look like v1',
    default: 'v1',
    description: 'Version of the Data Manager API in every request.',
  }),
  googleTokenUrl: url('SIGNALBOX_GOOGLE_TOKEN_URL', {
    description:
      'Where access tokens for Google are minted. Unset: https://oauth2.googleapis.com/token, ' +
      'or the simulator. The `token_uri` of a key file is ignored.',
  }),
}

export const GOOGLE_ADS_PLUG_IN: PlatformPlugIn = {
  name: 'google_ads',
  label: 'Google Ads',
  settings: GOOGLE_ADS_SETTINGS,
  address: GOOGLE_ADS_SETTINGS.googleAdsUrl,
  productionUrl: 'https://datamanager.googleapis.com',
  load: async () => {
    const { googleAdsPlatform } = await import('./client.ts')
    return context =>
      googleAdsPlatform({
        baseUrl: findAddress({ address: GOOGLE_ADS_SETTINGS.googleAdsUrl }, context),
        version: readPluginSetting(context.settings, GOOGLE_ADS_SETTINGS.googleAdsVersion),
        tokenUrl: findTokenUrl(context, {
          setting: GOOGLE_ADS_SETTINGS.googleTokenUrl,
          production: GOOGLE_TOKEN_URL,
        }),
        timeoutMilliseconds: context.timeoutMilliseconds,
        now: context.now,
      })
  },
}
