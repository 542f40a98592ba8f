import { choice, matching, url } from '../../../runtime/settings/setting-types.ts'
import { readPluginSetting } from '../../../runtime/settings/settings.ts'
import { apiAddress, findAddress, findTokenUrl, type PlatformPlugIn } from '../plug-in.ts'

const LINKEDIN_TOKEN_URL = 'https://www.linkedin.com/oauth/v2/accessToken'

export const LINKEDIN_SETTINGS = {
  linkedinUrl: apiAddress(
    'SIGNALBOX_LINKEDIN_URL',
    'LinkedIn API to deliver to (LinkedIn: https://api.linkedin.com). Unset: the simulator.',
  ),
  linkedinVersion: matching('SIGNALBOX_LINKEDIN_VERSION', {
    pattern: /^20\d\d(0[1-9]|1[0-2])$/,
    requirement: 'be a year and a month, such as 202607',
    default: '202607',
    description:
      'Version of the LinkedIn API in every request. LinkedIn ends a version after a year; ' +
      'doctor warns three months before.',
  }),
  linkedinTokenUrl: url('SIGNALBOX_LINKEDIN_TOKEN_URL', {
    description:
      'Where access tokens for LinkedIn are minted. ' +
      `Unset: ${LINKEDIN_TOKEN_URL}, or the simulator.`,
  }),
  linkedinIpAddress: choice('SIGNALBOX_LINKEDIN_IP_ADDRESS', {
    choices: ['plain', 'none'],
    default: 'none',
    description:
      'Whether the IP address of a person is sent to LinkedIn, from the next event on. Other ' +
      'senders do; we could not verify that every version takes it.',
  }),
}

export const LINKEDIN_PLUG_IN: PlatformPlugIn = {
  name: 'linkedin',
  label: 'LinkedIn',
  settings: LINKEDIN_SETTINGS,
  address: LINKEDIN_SETTINGS.linkedinUrl,
  productionUrl: 'https://api.linkedin.com',
  readVersion(settings) {
    const version = readPluginSetting(settings, LINKEDIN_SETTINGS.linkedinVersion)
    const { variable } = LINKEDIN_SETTINGS.linkedinVersion
    return { variable, version, endsAt: findVersionEnd(version) }
  },
  load: async () => {
    const { linkedinPlatform } = await import('./client.ts')
    return context =>
      linkedinPlatform({
        baseUrl: findAddress({ address: LINKEDIN_SETTINGS.linkedinUrl }, context),
        version: readPluginSetting(context.settings, LINKEDIN_SETTINGS.linkedinVersion),
        tokenUrl: findTokenUrl(context, {
          setting: LINKEDIN_SETTINGS.linkedinTokenUrl,
          production: LINKEDIN_TOKEN_URL,
        }),
        ipAddress: readPluginSetting(context.settings, LINKEDIN_SETTINGS.linkedinIpAddress),
        timeoutMilliseconds: context.timeoutMilliseconds,
      })
  },
}

/**
 * LinkedIn announced the ends of 202508, 202510 and 202511 for the 17th, 15th and 16th of their
 * month a year later: the earliest of these days.
 */
export function findVersionEnd(version: string): Date {
  const year = Number(version.slice(0, 4))
  const month = Number(version.slice(4))
  return new Date(Date.UTC(year + 1, month - 1, 15))
}
