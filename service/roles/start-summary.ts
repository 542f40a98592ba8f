import { VARIABLES, type Variable, type VariableName } from '../settings/variables.ts'

export interface StartFacts {
  origin: string
  store: string
  platform: string
  credentialsPath: string | null
  given: readonly VariableName[]
  environment: (name: VariableName) => string | undefined
}

/** What a person wants to know once the service runs. Secrets are shown only as "set". */
export function startSummary(facts: StartFacts): string {
  const lines = [
    `Signalbox is ready at ${facts.origin}`,
    '',
    `  store      ${facts.store}`,
    `  platform   ${facts.platform}`,
    ...(facts.credentialsPath ? [`  keys       ${facts.credentialsPath}`] : []),
    ...(facts.given.length > 0 ? [`  settings   ${settingsLine(facts)}`] : []),
    ...(facts.credentialsPath ? ['', ...firstEvent(facts.origin, facts.credentialsPath)] : []),
  ]
  return `${lines.join('\n')}\n`
}

function settingsLine({ given, environment }: StartFacts): string {
  return given
    .map(name => {
      const variable: Variable = VARIABLES[name]
      return `${name}=${variable.secret ? '(set)' : environment(name)}`
    })
    .join(' ')
}

/** Copy and paste: the secret is read from the file, so it never stands in a shell's history. */
function firstEvent(origin: string, path: string): string[] {
  return [
    'Send a first purchase:',
    '',
    `  curl -i ${origin}/api/v1/events \\`,
    `    -H "Authorization: Bearer $(${secretReader(path)})" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${FIRST_EVENT}'`,
    '',
    'and ask what became of it:',
    '',
    `  curl -s ${origin}/api/v1/events/order-1001 \\`,
    `    -H "Authorization: Bearer $(${secretReader(path)})"`,
  ]
}

const FIRST_EVENT =
  '{"event_id":"order-1001","event_name":"Purchase","consent_basis":"consent",' +
  '"consent":{"advertising":"granted"},"user_data":{"em":"jane@example.com"},' +
  '"value_data":{"value":"19.95","currency":"EUR","order_id":"1001"}}'

/** sed is everywhere; jq is not. */
function secretReader(path: string): string {
  return `sed -n 's/.*"tracker_secret": "\\(.*\\)".*/\\1/p' '${path}'`
}
