import { once } from 'node:events'
import { createServer } from 'node:net'
import { findTracesUrl } from '../../runtime/settings/operation-settings.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import type { UnavailableCause } from '../../signals/platforms/platform.ts'
import { listAddresses, type PlatformAddress } from '../../signals/platforms/plug-ins.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import { unavailableWithoutToken } from '../../signals/platforms/send-answer.ts'
import { findSmtpError } from '../../workspaces/users/mail/client.ts'
import { providerErrorCode, readMetadata } from '../../workspaces/users/single-sign-on/client.ts'
import { requestPage } from './client.ts'
import type { OpenedDestination } from './delivery-checks.ts'
import { type DoctorContext, error, type Finding, ok, skipped, warning } from './finding.ts'

/** What the settings lead to: ports of this machine, the own origin, the mail server. */
export async function checkNetwork(context: DoctorContext): Promise<Finding[]> {
  const { settings } = context
  const { host, port, metricsHost, metricsPort } = settings
  return Promise.all([
    checkPort('network.port', { host, port, setting: 'PORT', path: '/livez' }),
    checkPort('network.metrics_port', {
      host: metricsHost,
      port: metricsPort || (port === 0 ? 0 : port + 2),
      setting: 'SIGNALBOX_METRICS_PORT',
      path: '/metrics',
    }),
    checkOwnOrigin(context),
    checkMailServer(context),
    checkOpenidProvider(context),
    checkTraces(context),
  ])
}

interface OwnPort {
  host: string
  port: number
  setting: string
  /** Answered by a Signalbox on this port. */
  path: string
}

/** The port is free, or a Signalbox answers there. */
async function checkPort(check: string, { host, port, setting, path }: OwnPort): Promise<Finding> {
  if (port === 0) return ok(check, `${setting} takes any free port.`)
  const code = await tryToListen(host, port)
  if (code === null) return ok(check, `Port ${port} is free: nothing runs there now.`)
  if (code !== 'EADDRINUSE') {
    return error(
      check,
      `The service cannot listen on ${host}, port ${port} (${code}).`,
      `Set ${setting} to another port, or its host to an address of this machine.`,
    )
  }
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const answer = await requestPage(
    `http://${name.includes(':') ? `[${name}]` : name}:${port}${path}`,
  )
  const isOwn = answer.status === 200 && /"status":"ok"|^signalbox_/m.test(answer.text)
  if (isOwn) return ok(check, `A Signalbox answers on port ${port}.`)
  return error(
    check,
    `Another program listens on port ${port} of ${host}.`,
    `Set ${setting} to a free port, or stop that program.`,
  )
}

async function tryToListen(host: string, port: number): Promise<string | null> {
  const server = createServer()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return null
  } catch (failure) {
    return String((failure as NodeJS.ErrnoException).code)
  }
}

async function checkOwnOrigin({ settings: { publicOrigin } }: DoctorContext): Promise<Finding> {
  const check = 'network.public_origin'
  if (publicOrigin === undefined) return skipped(check, 'No public origin is set.')
  const answer = await requestPage(`${publicOrigin}/livez`)
  if (answer.status === 200 && answer.text.includes('"status":"ok"')) {
    return ok(check, `${publicOrigin} leads to a Signalbox.`)
  }
  const reason = answer.status === null ? answer.code : `HTTP ${answer.status}`
  return warning(
    check,
    `${publicOrigin} does not lead to a Signalbox from this machine (${reason}).`,
    'Start the service; then check DNS, the certificate, and where the proxy forwards to.',
  )
}

async function checkMailServer({ settings: { mailUrl } }: DoctorContext): Promise<Finding> {
  const check = 'network.mail_server'
  if (mailUrl === undefined) return skipped(check, 'No mail server is set.')
  const code = await findSmtpError(mailUrl)
  if (code === null) return ok(check, 'The mail server accepts the sign-in.')
  const message =
    code === 'EAUTH'
      ? 'The mail server refuses the user or the password (EAUTH).'
      : `The mail server cannot be used (${code}).`
  return error(check, message, 'Correct SIGNALBOX_MAIL_URL, or open the port to the mail server.')
}

const EMAIL_CLAIMS = ['email_verified', 'xms_edov']

/** The metadata of the company's provider, with the check of its issuer that a sign-in makes. */
async function checkOpenidProvider({ settings, now }: DoctorContext): Promise<Finding> {
  const check = 'network.openid_provider'
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = settings
  if (!issuer || !clientId || !clientSecret) return skipped(check, 'No OpenID provider is set.')
  try {
    const config = await readMetadata({ issuer, clientId, clientSecret, now })
    const { claims_supported: claims } = config.serverMetadata()
    if (!claims || EMAIL_CLAIMS.some(claim => claims.includes(claim))) {
      return ok(check, `${issuer} is an OpenID provider that names itself so.`)
    }
    return warning(
      check,
      `${issuer} does not list the claim email_verified, without which it signs nobody in.`,
      'Make the provider send email_verified, or xms_edov from Entra ID.',
    )
  } catch (failure) {
    return error(
      check,
      `${issuer} cannot be used as an OpenID provider (${providerErrorCode(failure)}).`,
      'Set SIGNALBOX_OIDC_ISSUER to the issuer in its /.well-known/openid-configuration.',
    )
  }
}

/** Any status will do: a receiver answers a GET request with 405. */
async function checkTraces({ settings }: DoctorContext): Promise<Finding> {
  const check = 'network.traces'
  const url = findTracesUrl(settings)
  if (url === null) return skipped(check, 'No receiver of traces is set.')
  const { origin } = new URL(url)
  const answer = await requestPage(url)
  if (answer.status === 404) {
    return warning(
      check,
      `${origin} takes no traces at ${new URL(url).pathname} (HTTP 404).`,
      'Set OTEL_EXPORTER_OTLP_ENDPOINT to a receiver of OTLP over HTTP, usually port 4318.',
    )
  }
  if (answer.status !== null) return ok(check, `The receiver of traces at ${origin} answers.`)
  return warning(
    check,
    `The receiver of traces at ${origin} cannot be reached (${answer.code}).`,
    'Start it, or unset OTEL_EXPORTER_OTLP_ENDPOINT; the service works without it.',
  )
}

const CLOCK_SECONDS_MAX = 60

/** Whether each platform answers, by any status, and whether its clock agrees with ours. */
export async function checkPlatforms({ settings, now }: DoctorContext): Promise<Finding[]> {
  const addresses = listAddresses(settings)
  if (addresses.length === 0) return [skipped('platform.reachable', 'No platform is set.')]
  const findings = await Promise.all(addresses.map(address => checkPlatform(address, now)))
  return findings.flat()
}

async function checkPlatform(
  { plugIn, url }: PlatformAddress,
  now: () => Date,
): Promise<Finding[]> {
  const check = 'platform.reachable'
  const { origin } = new URL(url)
  const answer = await requestPage(origin)
  if (answer.status === null) {
    const fix = `Check DNS, firewall and outgoing proxy, and ${plugIn.address.variable}.`
    return [error(check, `${origin} cannot be reached (${answer.code}).`, fix)]
  }
  const reachable = ok(check, `${origin} answers.`)
  if (answer.date === null) return [reachable]
  const seconds = Math.abs(now().getTime() - answer.date.getTime()) / 1_000
  if (seconds <= CLOCK_SECONDS_MAX) return [reachable, ok('platform.clock', 'The clocks agree.')]
  const clock = error(
    'platform.clock',
    `The clock of this machine differs from the platform's by ${Math.round(seconds)} s; events ` +
      'that seem to be from the future are rejected.',
    'Synchronize the clock of this machine with NTP.',
  )
  return [reachable, clock]
}

const REQUESTS_MAX = 10

/** Asks the platform for a report with each credential, which changes nothing there. */
export async function checkCredentials(
  { now }: DoctorContext,
  platforms: PlatformRegistry,
  destinations: readonly OpenedDestination[],
): Promise<Finding> {
  const check = 'platform.credentials'
  const asked = destinations.slice(0, REQUESTS_MAX)
  if (asked.length === 0) return skipped(check, 'There is no credential to try.')
  const results = await Promise.all(asked.map(it => tryCredential(platforms, it, now())))
  const rejected = asked.filter((_, index) => results[index] === 'credential')
  const unclear = results.filter(result => result !== 'credential' && result !== 'works').length
  if (rejected.length > 0) {
    return error(
      check,
      `The platform rejects the credential of ${rejected.map(({ id }) => id).join(', ')}.`,
      'Create a new token at the platform, and set it with "signalbox-server credential set".',
    )
  }
  if (unclear > 0) {
    return warning(
      check,
      `${unclear} of ${asked.length} credentials cannot read reports: reconciliation is missing.`,
      'Give the token the permission to read reports; sending may work without.',
    )
  }
  return ok(check, `The platform accepts the credentials of ${asked.length} destinations.`)
}

async function tryCredential(
  platforms: PlatformRegistry,
  { platform: name, config, credential }: OpenedDestination,
  at: Date,
): Promise<UnavailableCause | 'works'> {
  const platform = platforms.find(name)
  const target = platform?.parseTarget(config) ?? null
  if (!platform || target === null) return 'unsupported'
  const hour = HOUR_SECONDS * 1_000
  const until = new Date(Math.floor(at.getTime() / hour) * hour)
  const day = { from: new Date(until.getTime() - hour), until }
  const found = await platforms.accessTokens.find(platform, credential)
  if (found.kind === 'no_token') return unavailableWithoutToken(found.answer).cause
  const { accessToken } = found
  const answer = await platform.readDayCounts({ target, accessToken }, day, 'server')
  return answer.kind === 'unavailable' ? answer.cause : 'works'
}
