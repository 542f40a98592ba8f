import { choice, matching } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, type PlatformPlugIn } from '../plug-in.ts'

export const REDDIT_SETTINGS = {
  redditUrl: apiAddress(
    'SIGNALBOX_REDDIT_URL',
    'Reddit Ads API to deliver to (Reddit: https://ads-api.reddit.com). Unset: the simulator.',
  ),
  redditVersion: matching('SIGNALBOX_REDDIT_VERSION', {
    pattern: /^v\d+$/,
    requirement: 'look like v3',
    default: 'v3',
    description: 'Version of the Reddit Ads API in every request.',
  }),
  redditIpAddress: choice('SIGNALBOX_REDDIT_IP_ADDRESS', {
    choices: ['plain', 'hashed', 'none'],
    default: 'plain',
    description:
      'How the IP address of a person is sent to Reddit, from the next event on. Senders differ, ' +
      'and we could not read which one Reddit asks for.',
  }),
}

export const REDDIT_PLUG_IN: PlatformPlugIn = {
  name: 'reddit',
  label: 'Reddit',
  settings: REDDIT_SETTINGS,
  address: REDDIT_SETTINGS.redditUrl,
  productionUrl: 'https://ads-api.reddit.com',
  load: async () => {
    const { redditPlatform } = await import('./client.ts')
    return context =>
      redditPlatform({
        baseUrl: findAddress({ address: REDDIT_SETTINGS.redditUrl }, context),
        version: readPluginSetting(context.settings, REDDIT_SETTINGS.redditVersion),
        ipAddress: readPluginSetting(context.settings, REDDIT_SETTINGS.redditIpAddress),
        timeoutMilliseconds: context.timeoutMilliseconds,
      })
  },
}
