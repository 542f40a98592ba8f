export const SOCIAL_PROVIDERS = ['google', 'github'] as const
export type SocialProvider = (typeof SOCIAL_PROVIDERS)[number]

/** The credentials of the operator at each provider that people may sign in with. */
export type SocialClients = Partial<
  Record<SocialProvider, { clientId: string; clientSecret: string }>
>
