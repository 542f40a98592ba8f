import { choice, integer, list, matching, text } from './setting-types.ts'

/** Settings of sign-in, email and agents. */
export const SIGN_IN_SETTINGS = {
  signInRatePerMinute: integer('SIGNALBOX_SIGN_IN_RATE_PER_MINUTE', {
    default: 30,
    max: 100_000,
    description: 'Sign-ins, sign-ups and emailed links per minute and address. 0: no limit.',
  }),
  invitationsPerUserPerDay: integer('SIGNALBOX_INVITATIONS_PER_PERSON_PER_DAY', {
    default: 50,
    max: 100_000,
    description: 'Invitations that a person may send per day; per process. 0: no limit.',
  }),
  invitationsPerWorkspacePerDay: integer('SIGNALBOX_INVITATIONS_PER_WORKSPACE_PER_DAY', {
    default: 100,
    max: 100_000,
    description: 'Invitations from a workspace per day; per process. 0: no limit.',
  }),
  invitationsPerRecipientPerDay: integer('SIGNALBOX_INVITATIONS_PER_RECIPIENT_PER_DAY', {
    default: 5,
    max: 100_000,
    description: 'Invitations to an address, from all workspaces, per day. 0: no limit.',
  }),
  registrationRatePerMinute: integer('SIGNALBOX_REGISTRATION_RATE_PER_MINUTE', {
    default: 20,
    max: 100_000,
    description: 'OAuth client registrations per minute and address. 0: no limit.',
  }),
  oauthRatePerMinute: integer('SIGNALBOX_OAUTH_RATE_PER_MINUTE', {
    default: 300,
    max: 100_000,
    description: 'OAuth token and device code requests per minute and address. 0: no limit.',
  }),
  userCodeRatePerMinute: integer('SIGNALBOX_USER_CODE_RATE_PER_MINUTE', {
    default: 10,
    max: 100_000,
    description:
      'Attempts with device codes per minute of an address, person or code. 0: no limit.',
  }),
  agentRatePerMinute: integer('SIGNALBOX_AGENT_RATE_PER_MINUTE', {
    default: 600,
    max: 100_000,
    description: 'Agent requests, MCP and REST, per minute and address. 0: no limit.',
  }),
  mcpOrigins: list('SIGNALBOX_MCP_ORIGINS', {
    pattern: /^https?:\/\/[^\s/,?#@]+(\s*,\s*https?:\/\/[^\s/,?#@]+){0,31}$/,
    requirement: 'be 1 to 32 comma-separated origins such as https://chat.example',
    description:
      'Other origins whose pages may call /mcp. Unset: the own origin, and loopback on loopback.',
  }),
  nativeSchemes: list('SIGNALBOX_NATIVE_SCHEMES', {
    pattern: /^[a-z][a-z0-9+.-]*(\s*,\s*[a-z][a-z0-9+.-]*){0,31}$/,
    requirement: 'be 1 to 32 comma-separated URL schemes in lower case',
    default: 'cursor, vscode, vscode-insiders, windsurf, zed',
    description: 'URL schemes that OAuth may redirect native clients to, without the colon.',
  }),
  signUp: choice('SIGNALBOX_SIGN_UP', {
    choices: ['open', 'invited', 'closed'],
    default: 'open',
    description: 'Who may create an account: anyone, invited addresses, or no one.',
  }),
  signUpDomains: list('SIGNALBOX_SIGN_UP_DOMAINS', {
    pattern: /^[a-z0-9-]+(\.[a-z0-9-]+)+(\s*,\s*[a-z0-9-]+(\.[a-z0-9-]+)+){0,63}$/,
    requirement: 'be 1 to 64 comma-separated domains in lower case, such as shop.example',
    description: 'The only domains whose addresses may create an account. Unset: any.',
  }),
  mailUrl: matching('SIGNALBOX_MAIL_URL', {
    pattern: /^smtps?:\/\/[^\s/]+\/?(\?\S*)?$/,
    requirement: 'be an smtp:// or smtps:// address such as smtps://user:password@mail.example',
    isSecret: true,
    description: 'Mail server. Unset: emails are written to the folder outbox of the data folder.',
  }),
  mailFrom: matching('SIGNALBOX_MAIL_FROM', {
    pattern: /^[^\s@<>",;:]+@[^\s@<>",;:]+$/,
    requirement: 'be one email address',
    default: 'signalbox@localhost',
    description: 'Sender of emails.',
  }),
  googleClientId: text('SIGNALBOX_GOOGLE_CLIENT_ID', {
    description: 'OAuth client for sign-in with Google. Unset: not offered.',
  }),
  googleClientSecret: text('SIGNALBOX_GOOGLE_CLIENT_SECRET', {
    isSecret: true,
    description: 'Secret of that client. Its redirect URI is ORIGIN/auth/callback/google.',
  }),
  githubClientId: text('SIGNALBOX_GITHUB_CLIENT_ID', {
    description: 'OAuth client for sign-in with GitHub. Unset: not offered.',
  }),
  githubClientSecret: text('SIGNALBOX_GITHUB_CLIENT_SECRET', {
    isSecret: true,
    description: 'Secret of that client. Its redirect URI is ORIGIN/auth/callback/github.',
  }),
  oidcIssuer: matching('SIGNALBOX_OIDC_ISSUER', {
    pattern: /^(https:\/\/[^\s?#@]+|http:\/\/(localhost|127\.0\.0\.1)(:\d+)?(\/[^\s?#@]*)?)$/,
    requirement: 'be an https URL such as https://login.shop.example, without ? and #',
    description:
      'Issuer of the OpenID provider that people of a company sign in with. Unset: not offered.',
  }),
  oidcClientId: text('SIGNALBOX_OIDC_CLIENT_ID', {
    description: 'Client at that provider.',
  }),
  oidcClientSecret: text('SIGNALBOX_OIDC_CLIENT_SECRET', {
    isSecret: true,
    description: 'Secret of that client. Its redirect URI is ORIGIN/auth/callback/oidc.',
  }),
  oidcDomains: list('SIGNALBOX_OIDC_DOMAINS', {
    pattern: /^[a-z0-9-]+(\.[a-z0-9-]+)+(\s*,\s*[a-z0-9-]+(\.[a-z0-9-]+)+){0,63}$/,
    requirement: 'be 1 to 64 comma-separated domains in lower case, such as shop.example',
    description: 'The only domains whose verified addresses may sign in with that provider.',
  }),
  oidcName: matching('SIGNALBOX_OIDC_NAME', {
    pattern: /^[^<>"]{1,40}$/,
    requirement: 'have 1 to 40 characters',
    default: 'single sign-on',
    description: 'Name of that provider on the sign-in page, after "Sign in with".',
  }),
}
