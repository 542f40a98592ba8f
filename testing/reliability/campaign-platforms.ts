import { setTimeout as delay } from 'node:timers/promises'
import { provisionDestination } from '../../service/program/provisioning/provision-tracker.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { PLUG_INS_WITH_ADDRESS } from '../../service/signals/platforms/plug-ins.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import {
  listConversions,
  listGoogleReceipts,
  listReceipts,
  listWebhookMessages,
} from '../fixtures/simulator.ts'
import type { Receipts } from './check-events.ts'
import { REJECTED_EVENT_NAME } from './platform-failures.ts'
import type { StoreServer } from './store-server.ts'

/** Every event of a campaign goes to the first one too, which the tracker has from its start. */
export const FIRST_PLATFORM = 'meta'
/** The others of a campaign that names none. */
export const DEFAULT_PLATFORMS: readonly string[] = ['google_ads']

const OTHER_PLATFORMS = createOfflinePlatforms().all.flatMap(({ name }) =>
  name === FIRST_PLATFORM ? [] : name,
)

/** The platforms with these names, or all; null when one of them is not known. */
export function parsePlatformNames(names: readonly string[]): readonly string[] | null {
  if (names.includes('all')) return OTHER_PLATFORMS
  return names.every(name => OTHER_PLATFORMS.includes(name)) ? [...new Set(names)] : null
}

/** The settings with which a service process sends to the simulator behind a proxy. */
export function listAddressSettings(url: string): Record<string, string> {
  const addresses = PLUG_INS_WITH_ADDRESS.map(({ address }) => [address.variable, url])
  return {
    ...Object.fromEntries(addresses),
    SIGNALBOX_GOOGLE_TOKEN_URL: `${url}/token`,
    SIGNALBOX_LINKEDIN_TOKEN_URL: `${url}/token`,
    RELIABILITY_WEBHOOK_URL: url,
  }
}

/** By names that only the map of a destination can give. */
const MAPS: Readonly<Record<string, Record<string, string>>> = {
  google_ads: { Purchase: '456', [REJECTED_EVENT_NAME]: '789' },
  linkedin: { Purchase: '456', [REJECTED_EVENT_NAME]: '789' },
  snapchat: { [REJECTED_EVENT_NAME]: 'SIGN_UP' },
}

interface Connecting {
  credentialKey: string
  trackerId: string
  platforms: readonly string[]
}

/** Gives the tracker of the installation a destination of each. Returns their IDs by platform. */
export async function connectPlatforms(
  { connectionString }: Pick<StoreServer, 'connectionString'>,
  { credentialKey, trackerId, platforms }: Connecting,
): Promise<Map<string, string>> {
  const registry = createOfflinePlatforms()
  const database = openDatabase({
    connectionString,
    connectionsMax: 1,
    applicationName: 'reliability',
    onIdleError: () => {},
  })
  const ids = new Map<string, string>()
  try {
    for (const name of platforms) {
      const platform = registry.find(name)
      if (platform === null) throw new Error(`there is no plug-in ${name}`)
      const { config, credential: accessToken } = platform.createSimulatorDestination()
      const id = await provisionDestination(database, {
        trackerId,
        at: new Date(),
        credentialKeys: { current: Buffer.from(credentialKey, 'hex'), previous: [] },
        ...(MAPS[name] && { routing: { event_names: MAPS[name] } }),
        connected: { platform: name, config, accessToken },
      })
      ids.set(name, id)
    }
  } finally {
    await database.close()
  }
  await delay(ROUTES_MILLISECONDS)
  return ids
}

/** The processes keep the destinations of a tracker for half a second. */
const ROUTES_MILLISECONDS = 1_000

/** Those that take an event that names no one. */
const TAKES_ANYONE = new Set(['openai_ads', 'tiktok', 'webhook'])

/** Whether an event without a person ends as accepted, and not as refused. */
export function takesAnyone(platform: string): boolean {
  return TAKES_ANYONE.has(platform)
}

interface ReceivedCopy {
  eventId: string
  /** The request's ID of a platform that tells one. */
  requestId: string | null
  /** Left out: the receiver counts an event once by its ID, as the guide of webhooks asks. */
  isCounted?: boolean
}

/** What a platform received, in the order of arrival. */
export async function listCopies(url: string, platform: string): Promise<ReceivedCopy[]> {
  switch (platform) {
    case FIRST_PLATFORM:
      return (await listReceipts(url)).map(({ event_id, request_id, deduplicated }) => ({
        eventId: event_id,
        requestId: request_id,
        isCounted: !deduplicated,
      }))
    // Events of the load have no order, so their own ID is the transaction.
    case 'google_ads':
      return (await listGoogleReceipts(url)).map(({ transaction_id, request_id, outcome }) => ({
        eventId: transaction_id,
        requestId: request_id,
        isCounted: outcome === 'new' || outcome === 'restated',
      }))
    case 'webhook':
      return (await listWebhookMessages(url)).flatMap(({ data }) =>
        (data.events ?? []).map(({ event_id }: { event_id: string }) => ({
          eventId: event_id,
          requestId: null,
        })),
      )
    default:
      return (await listConversions(url, toPartName(platform))).map(
        ({ event_id, deduplicated }) => ({
          eventId: event_id,
          requestId: null,
          isCounted: !deduplicated,
        }),
      )
  }
}

/** The name of a platform in the addresses of the simulator's controls. */
export function toPartName(platform: string): string {
  return platform === 'google_ads' ? 'google' : platform
}

export interface PlatformReceipts {
  receipts: Receipts
  /** How often the platform counted each event. */
  counted: Map<string, number>
}

export function groupCopies(copies: readonly ReceivedCopy[]): PlatformReceipts {
  const receipts = new Map<string, (string | null)[]>()
  const counted = new Map<string, number>()
  for (const { eventId, requestId, isCounted = !receipts.has(eventId) } of copies) {
    receipts.set(eventId, [...(receipts.get(eventId) ?? []), requestId])
    if (isCounted) counted.set(eventId, (counted.get(eventId) ?? 0) + 1)
  }
  return { receipts, counted }
}
