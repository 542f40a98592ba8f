import type { AddressInfo } from 'node:net'
import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { Tracer } from '../../runtime/tracing/tracer.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import { verifyErasureKey } from '../../signals/erasure/erasure-key-store.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import { MailQueue } from '../../workspaces/users/mail/mail-queue.ts'
import {
  registerCommitFailureMetrics,
  registerCommitMetrics,
  registerCommitQueueMetrics,
  registerHttpMetrics,
  registerRateLimitMetrics,
} from '../metrics/ingestion-metrics.ts'
import type { MetricsRegistry } from '../metrics/metrics-registry.ts'
import { loadContractKeys } from '../provisioning/installation-keys.ts'
import { createServer } from '../server/server.ts'
import type { ServerOptions } from '../server/server-options.ts'
import { createEmailTransport } from './email-transport.ts'
import { createListenError, formatUrlHost } from './listen-address.ts'
import type { RoleContext } from './role.ts'

export interface HttpService {
  origin: string
  /** Resolves when `/readyz` answers 200. */
  markReady(): Promise<void>
  /** Answers open requests and commits accepted events; stalled clients are disconnected. */
  close(): Promise<void>
}

/** A body has at most 64 KiB, so one that takes longer will not arrive. */
const DRAIN_TIMEOUT_MILLISECONDS = 5_000

export interface HttpOptions {
  database: Database
  connectionString: string
  nodes: StoreNodes
  platforms: PlatformRegistry
  /** Null where the platform is not known. */
  delivery: DeliveryContext | null
  credentialKeys: CredentialKeys
  onPlanned: () => void
  registry: MetricsRegistry
  tracer: Tracer | null
  /** The state of the circuits; left out where this process delivers nothing. */
  circuits?: () => CircuitCounts | Promise<CircuitCounts>
  /** Other threads of this process listen on the same port. */
  reusePort?: boolean
  /** Memory that they share. */
  shared?: NonNullable<ServerOptions['shared']>
}

/** Starts to listen. Throws a StartError, ContractKeyError or ErasureKeyError when it cannot. */
export async function startHttp(
  context: RoleContext,
  { registry, reusePort = false, ...options }: HttpOptions,
): Promise<HttpService> {
  const { settings, logger, now } = context
  const mails = createEmailQueue(context)
  await verifyErasureKey(options.database, options.credentialKeys)
  let origin = settings.publicOrigin ?? ''
  const server = createServer({
    ...options,
    contractKeys: await loadContractKeys(settings),
    securityContact: settings.securityContact,
    testModeSeconds: settings.testModeHours * HOUR_SECONDS,
    additionalConsentProvider: settings.additionalConsentProvider ?? null,
    logger,
    now,
    publicOrigin: () => origin,
    trustedProxies: settings.trustedProxies,
    nativeSchemes: settings.nativeSchemes,
    mcpOrigins: settings.mcpOrigins,
    mails,
    social: socialClients(settings),
    signUp: { mode: settings.signUp, domains: settings.signUpDomains },
    ingestQueueMax: settings.ingestQueueMax,
    commitEventsMax: settings.commitEventsMax,
    limits: pickLimits(settings),
    onAnswered: registerHttpMetrics(registry),
    onCommitted: registerCommitMetrics(registry),
    ...registerRateLimitMetrics(registry),
  })
  registerCommitQueueMetrics(registry, server.commitQueue, settings.ingestQueueMax)
  registerCommitFailureMetrics(registry, server.commitHealth)
  const { host } = settings
  const address = { host, port: settings.port, reusePort }
  try {
    await server.app.listen(address)
  } catch (cause) {
    const variables = { host: 'HOST', port: 'PORT' } as const
    throw createListenError(cause, { host, port: settings.port, variables })
  }
  const { port } = server.app.server.address() as AddressInfo
  origin ||= `http://${formatUrlHost(host)}:${port}`
  const close = async () => {
    const timeout = AbortSignal.timeout(DRAIN_TIMEOUT_MILLISECONDS)
    timeout.addEventListener('abort', () => server.app.server.closeAllConnections())
    await server.close()
    await mails.drain()
  }
  return { origin, markReady: async () => server.markReady(), close }
}

function pickLimits(settings: Settings): ServerOptions['limits'] {
  const { trackerRatePerSecond, publishableRatePerSecond, browserRatePerMinute } = settings
  const { sandboxRatePerMinute, failedAuthRatePerMinute } = settings
  const { signInRatePerMinute, registrationRatePerMinute, oauthRatePerMinute } = settings
  const { invitationsPerUserPerDay, invitationsPerWorkspacePerDay } = settings
  const { invitationsPerRecipientPerDay } = settings
  const { userCodeRatePerMinute, agentRatePerMinute, eventLoopDelayMillisecondsMax } = settings
  return {
    trackerRatePerSecond,
    publishableRatePerSecond,
    browserRatePerMinute,
    sandboxRatePerMinute,
    failedAuthRatePerMinute,
    signInRatePerMinute,
    invitationsPerUserPerDay,
    invitationsPerWorkspacePerDay,
    invitationsPerRecipientPerDay,
    registrationRatePerMinute,
    oauthRatePerMinute,
    userCodeRatePerMinute,
    agentRatePerMinute,
    eventLoopDelayMillisecondsMax,
  }
}

function socialClients(settings: Settings): ServerOptions['social'] {
  const { googleClientId, googleClientSecret, githubClientId, githubClientSecret } = settings
  return {
    ...(googleClientId &&
      googleClientSecret && {
        google: { clientId: googleClientId, clientSecret: googleClientSecret },
      }),
    ...(githubClientId &&
      githubClientSecret && {
        github: { clientId: githubClientId, clientSecret: githubClientSecret },
      }),
  }
}

function createEmailQueue(context: RoleContext): MailQueue {
  const onFailure = (code: string) => context.logger.error({ code }, 'an email was not sent')
  return new MailQueue({ transport: createEmailTransport(context), onFailure })
}
