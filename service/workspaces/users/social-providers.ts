import type { Settings } from '../../runtime/settings/settings.ts'

export const SOCIAL_PROVIDERS = ['google', 'github'] as const
export type SocialProvider = (typeof SOCIAL_PROVIDERS)[number]

/** The credentials of the operator at each provider that people may sign in with. */
export type SocialClients = Partial<
  Record<SocialProvider, { clientId: string; clientSecret: string }>
>

export type SocialSettings = Pick<
  Settings,
  'googleClientId' | 'googleClientSecret' | 'githubClientId' | 'githubClientSecret'
>

/** A provider without its ID and secret is left out. */
export function readSocialClients(settings: SocialSettings): SocialClients {
  const { googleClientId, googleClientSecret, githubClientId, githubClientSecret } = settings
  const clients: SocialClients = {}
  if (googleClientId && googleClientSecret) {
    clients.google = { clientId: googleClientId, clientSecret: googleClientSecret }
  }
  if (githubClientId && githubClientSecret) {
    clients.github = { clientId: githubClientId, clientSecret: githubClientSecret }
  }
  return clients
}
