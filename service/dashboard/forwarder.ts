import {
  FORWARDER_KINDS,
  type ForwarderKind,
  renderForwarder,
} from '@signalbox/browser/forwarder-template.ts'
import { REFUSAL_RULES } from '@signalbox/contract/refusal-rules.ts'
import {
  type Forwarder,
  type ForwarderCheck,
  ForwarderQuery,
} from '@signalbox/contract/session/keys.ts'
import type { Database } from '../runtime/db/database.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { Validator } from '../runtime/http/validator.ts'
import { DAY_MILLISECONDS } from '../runtime/util/time.ts'
import { findLastForwarding } from '../signals/access/forwarded-signature-store.ts'
import { listLiveKeys, type TrackerKey } from '../signals/access/key-store.ts'
import { listRefusalCauses } from '../signals/refusals/refusal-list-store.ts'

interface ForwarderRequest {
  baseUrl: string
  /** With the path in the shop. Not validated. */
  query: unknown
}

const DEFAULT_PATH = '/sb'

/**
 * The file of a forwarder for this installation and what to do with it, as
 * clients/browser/README.md describes. Throws a 404 for an unknown kind and a 422 for an invalid
 * path.
 */
export function describeForwarder(
  kindInput: string,
  { baseUrl, query }: ForwarderRequest,
): Forwarder {
  const kind = FORWARDER_KINDS.find(known => known === kindInput)
  if (!kind) throw Refusal.notFound(`There is no such forwarder: ${FORWARDER_KINDS.join(', ')}.`)
  const path = readForwarderPath(query)
  const source = renderForwarder(kind, { baseUrl, path })
  const { fileName, steps } = SETUPS[kind](path)
  return {
    kind,
    file_name: fileName,
    source,
    steps: [...steps, kind === 'nginx' ? VERIFY_UNSIGNED : VERIFY_SIGNED],
    page_snippet: pageSnippet(path),
  }
}

const pathValidator = new Validator(ForwarderQuery, {
  members: {
    path: {
      error: 'The path field must be a path in your shop, such as /sb or /shop/sb.',
      parse: parsePath,
    },
  },
})

/** The path of a forwarder in the shop, without a slash at its end. Throws a 422 on `path`. */
function readForwarderPath(query: unknown): string {
  return pathValidator.validate(query).path ?? DEFAULT_PATH
}

const PATH_CHARACTERS_MAX = 100

/** An empty path is left out. */
function parsePath(text: string): string | null {
  if (text === '') return DEFAULT_PATH
  const path = text.replace(/\/$/, '')
  return /^(\/[\w.~-]+){1,8}$/.test(path) && path.length <= PATH_CHARACTERS_MAX ? path : null
}

const OPEN_A_PAGE = 'Open a page of your shop.'
const VERIFY_SIGNED = `${OPEN_A_PAGE} The check below shows when its first signed request arrived.`
const VERIFY_UNSIGNED = `${OPEN_A_PAGE} POST events answers 202 in the network tab of the browser.`
const SET_SECRET = 'Set the forwarding secret as SIGNALBOX_FORWARDING_SECRET in the environment.'

interface ForwarderSetup {
  fileName: string
  steps: string[]
}

const SETUPS: Record<ForwarderKind, (path: string) => ForwarderSetup> = {
  'cloudflare-worker': path => ({
    fileName: 'worker.ts',
    steps: [
      'Save the file as the main file of a Worker. Cloudflare must proxy the host of your shop.',
      `Add the route shop.example${path}/* to the Worker, with the host of your shop.`,
      'Run: npx wrangler secret put SIGNALBOX_FORWARDING_SECRET',
      'Run: npx wrangler deploy',
    ],
  }),
  nginx: () => ({
    fileName: 'signalbox.conf',
    steps: [
      'Include the file in the server block of your shop.',
      'nginx cannot sign: add its address to SIGNALBOX_TRUSTED_PROXIES on the Signalbox server.',
      'Behind a load balancer, let the realip module set $remote_addr.',
      'Run: nginx -t && nginx -s reload',
    ],
  }),
  'next-route': path => ({
    fileName: `app${path}/[...file]/route.ts`,
    steps: [
      'Save the file in your Next.js project.',
      SET_SECRET,
      'Set SIGNALBOX_CLIENT_IP_HEADER to the header in which your host sends the address of the ' +
        'visitor: x-real-ip on Vercel.',
      'Deploy.',
    ],
  }),
  express: path => ({
    fileName: 'signalbox-forwarder.ts',
    steps: [
      'Save the file in your project. Node 24 runs it unchanged.',
      SET_SECRET,
      `Before your body parsers, add: app.use('${path}', signalboxForwarder())`,
      "Behind a proxy, name the proxy in app.set('trust proxy', ...) and use " +
        "signalboxForwarder({ clientIp: 'trust-proxy' }).",
    ],
  }),
}

function pageSnippet(path: string): string {
  return `<script>
  window.signalbox = window.signalbox || function () {
    (signalbox.q = signalbox.q || []).push(arguments)
  }
  signalbox('init', { key: 'YOUR_PUBLISHABLE_KEY', endpoint: '${path}' })
  signalbox('event', 'PageView')
</script>
<script async src="/signalbox-tag.js"></script>`
}

interface CheckRequest {
  trackerId: string
  /** With the path in the shop. Not validated. */
  query: unknown
  at: Date
}

/** More causes than a tracker usually has. */
const CAUSES_MAX = 1_000

/**
 * Whether the forwarder of a shop works, by the signed requests that have arrived. The service
 * itself asks no address that a person enters: it could reach what only its own network reaches.
 */
export async function checkForwarder(
  database: Database,
  { trackerId, query, at }: CheckRequest,
): Promise<ForwarderCheck> {
  const command = formatTestCommand(readForwarderPath(query))
  const live = await listLiveKeys(database, trackerId)
  const secrets = live.filter(({ kind }) => kind === 'forwarding')
  const used = secrets.toSorted((one, other) => timeOf(other) - timeOf(one))[0]
  const forwardedAt = await findLastForwarding(database, trackerId)
  const validAt = Math.min(at.getTime(), Math.max(timeOf(used), forwardedAt?.getTime() ?? 0))
  const refused = await findLastRefusal(database, { trackerId, at })
  const isRefused = refused !== null && Date.parse(refused.at) > validAt
  return {
    status:
      secrets.length === 0 ? 'no_secret' : isRefused ? 'refused' : validAt ? 'valid' : 'waiting',
    last_valid_at: validAt ? new Date(validAt).toISOString() : null,
    last_valid_key: timeOf(used) ? (used?.lastCharacters ?? null) : null,
    last_refused: refused,
    test_command: command,
  }
}

function timeOf(key: TrackerKey | undefined): number {
  return key?.lastUsedAt?.getTime() ?? 0
}

async function findLastRefusal(
  database: Database,
  { trackerId, at }: Pick<CheckRequest, 'trackerId' | 'at'>,
): Promise<ForwarderCheck['last_refused']> {
  const from = new Date(at.getTime() - DAY_MILLISECONDS)
  const causes = await listRefusalCauses(database, { trackerId, from, limit: CAUSES_MAX })
  const refused = causes.find(({ rule }) => rule === RULE)
  if (!refused) return null
  return {
    at: refused.lastAt.toISOString(),
    requests: Number(refused.requests),
    request_id: refused.lastRequestId,
    advice: REFUSAL_RULES[RULE].advice,
  }
}

const RULE = 'forwarding_signature'

/** A verification event is stored once and never delivered. */
function formatTestCommand(path: string): string {
  const body = '{"event_name":"signal_verification","consent_basis":"legitimate_interest"}'
  return (
    `curl -i https://shop.example${path}/events -H 'Authorization: Bearer YOUR_PUBLISHABLE_KEY' ` +
    `-H 'Content-Type: application/json' -d '${body}'`
  )
}
