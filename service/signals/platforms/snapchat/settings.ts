import { choice } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const SNAPCHAT_SETTINGS = {
  snapchatUrl: apiAddress(
    'SIGNALBOX_SNAPCHAT_URL',
    'Conversions API of Snapchat (Snapchat: https://tr.snapchat.com). Unset: the simulator.',
  ),
  snapchatValueType: choice('SIGNALBOX_SNAPCHAT_VALUE_TYPE', {
    choices: ['number', 'text'],
    default: 'number',
    description:
      "How the value of an event is written: Snap's own library has a number, its page a text.",
  }),
}

export const SNAPCHAT_PLUG_IN: PlatformPlugIn = {
  name: 'snapchat',
  label: 'Snapchat',
  settings: SNAPCHAT_SETTINGS,
  address: SNAPCHAT_SETTINGS.snapchatUrl,
  productionUrl: 'https://tr.snapchat.com',
  load: async () => {
    const { snapchatPlatform } = await import('./client.ts')
    return context =>
      snapchatPlatform({
        baseUrl: findAddress({ address: SNAPCHAT_SETTINGS.snapchatUrl }, context),
        valueType: readPluginSetting(context.settings, SNAPCHAT_SETTINGS.snapchatValueType),
        timeoutMilliseconds: context.timeoutMilliseconds,
      })
  },
}
