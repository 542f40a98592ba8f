import type { Variable } from './variable.ts'

/** How people and agents come in. */
export const SIGN_IN_VARIABLES = {
  SIGNALBOX_SIGN_IN_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '30',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Sign-ins, sign-ups and mailed links a minute from one address. 0: no limit.',
  },
  SIGNALBOX_REGISTRATION_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '20',
    minimum: 0,
    maximum: 100_000,
    meaning: 'OAuth clients a minute that one address may register. 0: no limit.',
  },
  SIGNALBOX_OAUTH_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '300',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Requests a minute for OAuth tokens and device codes from one address. 0: no limit.',
  },
  SIGNALBOX_USER_CODE_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '10',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Codes of devices a minute that may be tried from one address. 0: no limit.',
  },
  SIGNALBOX_AGENT_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '600',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Requests of agents a minute, MCP and REST, from one address. 0: no limit.',
  },
  SIGNALBOX_MCP_ORIGINS: {
    kind: 'pattern',
    pattern: /^https?:\/\/[^\s/,?#@]+(\s*,\s*https?:\/\/[^\s/,?#@]+){0,31}$/,
    patternMeaning: 'be 1 to 32 origins such as https://chat.example with commas between them',
    default: undefined,
    meaning: 'Other origins whose pages may call /mcp. Unset: our own, and loopback on loopback.',
  },
  SIGNALBOX_NATIVE_SCHEMES: {
    kind: 'pattern',
    pattern: /^[a-z][a-z0-9+.-]*(\s*,\s*[a-z][a-z0-9+.-]*){0,31}$/,
    patternMeaning: 'be 1 to 32 URL schemes in lower case with commas between them',
    default: 'cursor, vscode, vscode-insiders, windsurf, zed',
    meaning: 'Schemes of native clients that OAuth may send people back to, without the colon.',
  },
  SIGNALBOX_MAIL_URL: {
    kind: 'pattern',
    pattern: /^smtps?:\/\/[^\s/]+\/?(\?\S*)?$/,
    patternMeaning: 'be an smtp:// or smtps:// address such as smtps://user:password@mail.example',
    default: undefined,
    secret: true,
    meaning: 'Mail server. Unset: mails are written into the folder outbox of the data folder.',
  },
  SIGNALBOX_MAIL_FROM: {
    kind: 'pattern',
    pattern: /^[^\s@<>",;:]+@[^\s@<>",;:]+$/,
    patternMeaning: 'be one mail address',
    default: 'signalbox@localhost',
    meaning: 'Sender of mails to people.',
  },
  SIGNALBOX_GOOGLE_CLIENT_ID: {
    kind: 'text',
    default: undefined,
    meaning: 'Sign-in with Google, together with its secret. Unset: not offered.',
  },
  SIGNALBOX_GOOGLE_CLIENT_SECRET: {
    kind: 'text',
    default: undefined,
    secret: true,
    meaning: 'Secret of that client. Its redirect URI is ORIGIN/auth/callback/google.',
  },
  SIGNALBOX_GITHUB_CLIENT_ID: {
    kind: 'text',
    default: undefined,
    meaning: 'Sign-in with GitHub, together with its secret. Unset: not offered.',
  },
  SIGNALBOX_GITHUB_CLIENT_SECRET: {
    kind: 'text',
    default: undefined,
    secret: true,
    meaning: 'Secret of that client. Its redirect URI is ORIGIN/auth/callback/github.',
  },
} as const satisfies Record<string, Variable>
