import type { GivenVariable } from '../../runtime/settings/settings.ts'

export interface StartSummary {
  origin: string
  store: string
  platform: string
  metricsUrl: string
  /** Null where a mail server sends emails. */
  outboxFolder: string | null
  /** Null without a demo: the store has other trackers, or none yet. */
  credentialsPath: string | null
  /** The consent time of the example purchase. */
  at: Date
  given: readonly GivenVariable[]
}

/** The banner of a service that is ready. Of a secret it shows only that it is set. */
export function formatStartSummary(summary: StartSummary): string {
  const { origin, credentialsPath, outboxFolder, given } = summary
  const emails = outboxFolder ? `written to ${outboxFolder}` : 'sent by SIGNALBOX_MAIL_URL'
  const lines = [
    `Signalbox is ready at ${origin}`,
    '',
    `  dashboard    ${origin}/`,
    `  credentials  ${credentialsPath ?? NO_CREDENTIALS}`,
    `  store        ${summary.store}`,
    `  platform     ${summary.platform}`,
    `  metrics      ${summary.metricsUrl}`,
    `  emails       ${emails}`,
  ]
  if (given.length > 0) lines.push(`  settings     ${formatSettings(given)}`)
  if (credentialsPath !== null) {
    lines.push(
      '',
      formatOwnerHint(origin, credentialsPath),
      '',
      ...formatExampleRequests(summary, credentialsPath),
    )
  }
  return `${lines.join('\n')}\n`
}

const NO_CREDENTIALS = 'none here; "signalbox-server provision --out FILE" creates a tracker'

function formatOwnerHint(origin: string, credentialsPath: string): string {
  const file = `owner_email and owner_password in ${credentialsPath}`
  return `Open ${origin}/ in a browser. The owner signs in with ${file}.`
}

function formatSettings(given: readonly GivenVariable[]): string {
  return given.map(({ variable, value }) => `${variable}=${value ?? '(set)'}`).join(' ')
}

/** To copy and paste: the secret is read from the file, so the shell's history does not show it. */
function formatExampleRequests({ origin, at }: StartSummary, credentialsPath: string): string[] {
  return [
    'Send a first purchase:',
    '',
    `  curl -i ${quoteForShell(`${origin}/api/v1/events`)} \\`,
    `    -H "Authorization: Bearer $(${formatSecretCommand(credentialsPath)})" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d ${quoteForShell(JSON.stringify(buildExamplePurchase(at)))}`,
    '',
    'Then read its deliveries:',
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

/** sed is installed everywhere; jq is not. */
function formatSecretCommand(path: string): string {
  return `sed -n 's/.*"tracker_secret": "\\(.*\\)".*/\\1/p' ${quoteForShell(path)}`
}

/** A folder name may contain spaces, `$` or a quote. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
