import type { GivenVariable } from '../settings/settings.ts'

export interface StartSummary {
  origin: string
  store: string
  platform: string
  metricsUrl: string
  /** Null when the store has trackers whose secrets are kept elsewhere. */
  credentialsPath: string | null
  /** When the service was ready, as the first purchase's moment of consent. */
  at: Date
  given: readonly GivenVariable[]
}

/** What a person wants to know once the service runs. Secrets are shown only as "set". */
export function formatStartSummary(facts: StartSummary): string {
  const { credentialsPath } = facts
  const lines = [
    `Signalbox is ready at ${facts.origin}`,
    '',
    `  store      ${facts.store}`,
    `  platform   ${facts.platform}`,
    `  metrics    ${facts.metricsUrl}`,
    `  keys       ${credentialsPath ?? NO_CREDENTIALS}`,
    ...(facts.given.length > 0 ? [`  settings   ${formatSettings(facts)}`] : []),
    ...(credentialsPath === null ? [] : ['', ...formatExampleRequests(facts, credentialsPath)]),
  ]
  return `${lines.join('\n')}\n`
}

const NO_CREDENTIALS = 'not here; make a further tracker by "npm run provision -- --out FILE"'

function formatSettings({ given }: StartSummary): string {
  return given.map(({ variable, value }) => `${variable}=${value ?? '(set)'}`).join(' ')
}

/** Copy and paste: the secret is read from the file, so it never stands in a shell's history. */
function formatExampleRequests({ origin, at }: StartSummary, credentialsPath: string): string[] {
  return [
    'Send a first purchase:',
    '',
    `  curl -i ${quoteForShell(`${origin}/api/v1/events`)} \\`,
    `    -H "Authorization: Bearer $(${formatSecretCommand(credentialsPath)})" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d ${quoteForShell(JSON.stringify(buildExamplePurchase(at)))}`,
    '',
    'and ask what became of it:',
    '',
    `  curl -s ${quoteForShell(`${origin}/api/v1/events/order-1001`)} \\`,
    `    -H "Authorization: Bearer $(${formatSecretCommand(credentialsPath)})"`,
  ]
}

function buildExamplePurchase(at: Date) {
  return {
    event_id: 'order-1001',
    event_name: 'Purchase',
    consent_basis: 'consent',
    consent: { advertising: 'granted', captured_at: at.toISOString() },
    user_data: { em: 'jane@example.com' },
    value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
  }
}

/** sed is everywhere; jq is not. */
function formatSecretCommand(path: string): string {
  return `sed -n 's/.*"tracker_secret": "\\(.*\\)".*/\\1/p' ${quoteForShell(path)}`
}

/** Quoted for a shell, whatever is in it: a folder's name may hold spaces, `$` or a quote. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
