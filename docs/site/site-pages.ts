/** A page of the documentation that comes from a Markdown file of the repository. */
export interface GuidePage {
  /** The address below /docs, and the name of the Markdown form. */
  name: string
  /** From the root of the repository. */
  source: string
  /** One sentence for lists of pages. */
  description: string
  /** In the navigation, where the title of the page is too long or too general. */
  label?: string
}

export interface PageGroup {
  title: string
  pages: readonly GuidePage[]
}

/**
 * The one list of the pages at /docs, in the order of the navigation: the build, /llms.txt and
 * /llms-full.txt follow it. The API reference comes from the contract and has its own group.
 */
export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    title: 'Send events',
    pages: [
      guide('quick-start', 'From nothing to a delivered event in five minutes.'),
      {
        ...guide('consent', 'What each consent platform sends, and what Signalbox decides.'),
        label: 'Consent',
      },
      {
        name: 'browser',
        source: 'clients/browser/README.md',
        description: 'The tag for pages, and forwarders on your own origin.',
        label: 'Browser and edge',
      },
      operations('browser-keys', 'Publishable keys, origins and the trusted edge.'),
      {
        name: 'normalization',
        source: 'docs/reference/normalization.md',
        description: 'How identifiers are normalized before they are hashed.',
      },
      guide('batches', 'Many events in one request, and a result for each of them.'),
      guide('google-ads', 'Send conversions to Google Ads through the Data Manager API.'),
      guide('pinterest', 'Send conversions to Pinterest through its API for Conversions.'),
      guide('tiktok', 'Send conversions to TikTok through its Events API.'),
      guide('microsoft-ads', 'Send conversions to Microsoft Advertising: the UET Conversions API.'),
      guide('snapchat', 'Send conversions to Snapchat through its Conversions API.'),
      guide('openai-ads', 'Send conversions to OpenAI Ads through its Conversions API.'),
      guide('linkedin', 'Send conversions to LinkedIn through its Conversions API.'),
      guide('reddit', 'Send conversions to Reddit through its Conversions API.'),
      guide('webhook', 'Send consented events to an endpoint of your own, signed.'),
      guide('import', 'Send the rows of a CSV file as events, in the browser.'),
      guide('lead-stages', 'Send the stages of leads from a CSV file of a CRM.'),
      guide('routing', 'Choose which events a destination gets, and what it calls them.'),
      guide('refunds', 'The net value of an order, and what platforms are told of refunds.'),
      guide('woocommerce', 'A webhook that sends paid orders and refunds of WooCommerce.'),
      guide('shopify', 'A webhook that sends paid orders and refunds of Shopify, and erases.'),
      guide('migrate', 'Mappings from Segment, RudderStack and server-side Google Tag Manager.'),
    ],
  },
  {
    title: 'SDKs and command line',
    pages: [
      sdk('typescript', 'TypeScript', 'The client for Node.js, Bun, Deno and Cloudflare Workers.'),
      sdk('python', 'Python', 'The client for Python, with threads and with asyncio.'),
      sdk('go', 'Go', 'The client for Go.'),
      {
        name: 'cli',
        source: 'clients/cli/README.md',
        label: 'Command line',
        description: 'Send events and files from a terminal, and see what happened to them.',
      },
    ],
  },
  {
    title: 'Find an event',
    pages: [
      {
        name: 'statuses',
        source: 'docs/states.md',
        label: 'Statuses',
        description: 'Every status of an event, a delivery, a destination and an action.',
      },
      guide('refusals', 'Every refusal of the API: what it means and what to do.'),
      guide('deduplication', 'How a page, a pixel and a back end report one order.'),
      guide('replay', 'Send failed deliveries again, and what a replay cannot do.'),
      operations('reconciliation', 'Your counts of a day next to the counts of the platform.'),
      operations('match-quality', 'How well the platform can match your events to people.'),
      guide('limits', 'Sizes, rates and retention periods, in one place.'),
    ],
  },
  {
    title: 'Privacy',
    pages: [
      {
        ...operations('erasure', 'Erase a person by the digest of one identifier.'),
        label: 'Erasure',
      },
      operations('retention', 'How long data is kept, and how it is deleted.'),
      operations('export', 'Write events, deliveries, reports and match quality to a file.'),
    ],
  },
  {
    title: 'Agents',
    pages: [
      operations('agents', 'Connect an agent to one ad account, and revoke it.'),
      {
        ...operations('approvals', 'The policy, and how people decide on proposals.'),
        label: 'Approvals and policy',
      },
      operations('notifications', 'Digests by email and webhook.'),
      operations('audit', 'The append-only log, and how to verify it.'),
    ],
  },
  {
    title: 'Self-hosting',
    pages: [
      {
        name: 'self-hosting',
        source: 'docs/operations/running.md',
        label: 'Running it',
        description: 'Roles, workers, PostgreSQL, signals, health, jobs and backups.',
      },
      operations('deploy', 'The npm package, containers, systemd and Kubernetes.'),
      {
        ...operations('production-checklist', 'The steps to production, and the check of each.'),
        label: 'Production checklist',
      },
      operations('settings', 'Every environment variable.'),
      operations('doctor', 'Find misconfigurations, and what to do about them.'),
      {
        ...operations('troubleshooting', 'Every sentence with which the start can fail.'),
        label: 'Troubleshooting',
      },
      operations('credentials', 'Connect a Meta dataset, replace tokens and keys.'),
      operations('rotate-keys', 'Replace each key while events arrive.'),
      {
        ...operations('people', 'Sign-in, second factors, roles, workspaces and invitations.'),
        label: 'People and workspaces',
      },
      operations('postgresql', 'Settings of your own PostgreSQL.'),
      operations('monitoring', 'A dashboard, alerts, and the way from a figure to an event.'),
      operations('tracing', 'OpenTelemetry traces, from a request to the call of the platform.'),
      operations('backup', 'Copies, dumps and archived WAL, and how to restore them.'),
      { ...operations('standby', 'A second PostgreSQL that takes over.'), label: 'Standby' },
      operations('metrics', 'Prometheus metrics and alerts.'),
      operations('scale', 'From one machine to a cluster.'),
      operations('memory', 'What an idle installation takes, and why.'),
      operations('reliability', 'What the fault campaign does to an installation, and checks.'),
      { ...operations('upgrade', 'Move a store in use to this version.'), label: 'Upgrading' },
      operations('contract', 'The signed contract, its keys and generated clients.'),
    ],
  },
]

function guide(name: string, description: string): GuidePage {
  return { name, source: `docs/guides/${name}.md`, description }
}

function operations(name: string, description: string): GuidePage {
  return { name, source: `docs/operations/${name}.md`, description }
}

function sdk(name: string, label: string, description: string): GuidePage {
  return { name, source: `clients/sdks/${name}/README.md`, label, description }
}

/** A page that is generated from the contract. */
export interface GeneratedPage {
  name: string
  title: string
  description: string
}

export const REFERENCE_GROUP = 'API reference'

export const API_PAGE: GeneratedPage = {
  name: 'api',
  title: 'API reference',
  description: 'Every operation with its parameters, examples and statuses.',
}

export const SCHEMAS_PAGE: GeneratedPage = {
  name: 'schemas',
  title: 'Schemas',
  description: 'The fields of every request and response.',
}

/** The page at /docs itself. */
export const HOME_PAGE: GuidePage = {
  name: '',
  source: 'docs/guides/overview.md',
  description: 'What Signalbox is, and where to read on.',
}
