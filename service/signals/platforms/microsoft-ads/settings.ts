import { choice, matching } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const MICROSOFT_ADS_SETTINGS = {
  microsoftAdsUrl: apiAddress(
    'SIGNALBOX_MICROSOFT_ADS_URL',
    'UET Conversions API to deliver to (Microsoft: https://capi.uet.microsoft.com). ' +
      'Unset: the simulator.',
  ),
  microsoftAdsVersion: matching('SIGNALBOX_MICROSOFT_ADS_VERSION', {
    pattern: /^v\d+$/,
    requirement: 'look like v1',
    default: 'v1',
    description: 'Version of the UET Conversions API in every request.',
  }),
  microsoftAdsEmailForm: choice('SIGNALBOX_MICROSOFT_ADS_EMAIL_FORM', {
    choices: ['plain', 'without_dots_and_tags'],
    default: 'plain',
    description:
      'Which form of an email address is hashed for Microsoft: in lower case, or also without ' +
      'dots and `+...` before the @. Sources differ. It counts for events from then on.',
  }),
  microsoftAdsPhoneForm: choice('SIGNALBOX_MICROSOFT_ADS_PHONE_FORM', {
    choices: ['digits', 'e164', 'none'],
    default: 'digits',
    description:
      'Which form of a phone number is hashed for Microsoft: digits with the country code, the ' +
      'same with a + (`e164`), or none. Sources differ. It counts for events from then on.',
  }),
}

export const MICROSOFT_ADS_PLUG_IN: PlatformPlugIn = {
  name: 'microsoft_ads',
  label: 'Microsoft Advertising',
  settings: MICROSOFT_ADS_SETTINGS,
  address: MICROSOFT_ADS_SETTINGS.microsoftAdsUrl,
  productionUrl: 'https://capi.uet.microsoft.com',
  load: async () => {
    const { microsoftAdsPlatform } = await import('./client.ts')
    return context => {
      const { settings, timeoutMilliseconds } = context
      return microsoftAdsPlatform({
        baseUrl: findAddress({ address: MICROSOFT_ADS_SETTINGS.microsoftAdsUrl }, context),
        version: readPluginSetting(settings, MICROSOFT_ADS_SETTINGS.microsoftAdsVersion),
        emailForm: readPluginSetting(settings, MICROSOFT_ADS_SETTINGS.microsoftAdsEmailForm),
        phoneForm: readPluginSetting(settings, MICROSOFT_ADS_SETTINGS.microsoftAdsPhoneForm),
        timeoutMilliseconds,
      })
    }
  },
}
