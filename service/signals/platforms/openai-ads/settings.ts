import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const OPENAI_ADS_SETTINGS = {
  openaiAdsUrl: apiAddress(
    'SIGNALBOX_OPENAI_ADS_URL',
    'Conversions API of OpenAI Ads (OpenAI: https://bzr.openai.com). Unset: the simulator.',
  ),
}

export const OPENAI_ADS_PLUG_IN: PlatformPlugIn = {
  name: 'openai_ads',
  label: 'OpenAI Ads',
  settings: OPENAI_ADS_SETTINGS,
  address: OPENAI_ADS_SETTINGS.openaiAdsUrl,
  productionUrl: 'https://bzr.openai.com',
  load: async () => {
    const { openaiAdsPlatform } = await import('./client.ts')
    return context =>
      openaiAdsPlatform({
        baseUrl: findAddress({ address: OPENAI_ADS_SETTINGS.openaiAdsUrl }, context),
        timeoutMilliseconds: context.timeoutMilliseconds,
      })
  },
}
