import type { Settings } from '../../runtime/settings/settings.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { listAddresses, PLUG_INS_WITH_ADDRESS } from '../../signals/platforms/plug-ins.ts'
import {
  type DoctorContext,
  error,
  type Finding,
  isLoopbackHost,
  isPublic,
  ok,
  warning,
} from './finding.ts'

/** What the settings say by themselves, without a look at the machine, the store or the network. */
export function checkSettings({ settings, now }: DoctorContext): Finding[] {
  return [
    checkNames(settings),
    checkDeliveryRequests(settings),
    checkPublicOrigin(settings),
    checkTrustedProxies(settings),
    checkMetricsHost(settings),
    checkPlatformUrl(settings),
    checkPlatformVersions(settings, now()),
    checkMailSettings(settings),
    checkContractKey(settings),
    checkCredentialKey(settings),
    checkSignUp(settings),
    checkBundledPostgres(settings),
  ]
}

function checkNames({ warnings, given }: Settings): Finding {
  const check = 'settings.names'
  if (warnings.length > 0) {
    return warning(check, warnings.join(' '), 'Correct or remove it: an unknown name does nothing.')
  }
  return ok(check, `Every setting is known; ${given.length} are set.`)
}

/** A worker that uses up its connections delays its own settlements. */
function checkDeliveryRequests(settings: Settings): Finding {
  const check = 'settings.delivery_requests'
  const { deliveryRequestsMax, databaseConnectionsMax } = settings
  if (deliveryRequestsMax < databaseConnectionsMax) {
    return ok(check, `A worker sends ${deliveryRequestsMax} requests at the same time at most.`)
  }
  return warning(
    check,
    `A worker may send ${deliveryRequestsMax} requests at the same time, but has ` +
      `${databaseConnectionsMax} connections to write their outcome.`,
    'Set SIGNALBOX_DELIVERY_REQUESTS_MAX below SIGNALBOX_DATABASE_CONNECTIONS_MAX.',
  )
}

function checkPublicOrigin(settings: Settings): Finding {
  const check = 'settings.public_origin'
  const { publicOrigin, host } = settings
  if (publicOrigin === undefined) {
    if (!isPublic(settings)) return ok(check, 'The service is for this machine only.')
    return warning(
      check,
      `HOST is ${host}, but SIGNALBOX_PUBLIC_ORIGIN is not set: links in responses and emails ` +
        'lead to an internal address.',
      'Set SIGNALBOX_PUBLIC_ORIGIN to what callers use, such as https://events.example.',
    )
  }
  const { protocol, hostname } = new URL(publicOrigin)
  if (protocol === 'https:' || isLoopbackHost(hostname)) {
    return ok(check, `Links start with ${publicOrigin}.`)
  }
  return error(
    check,
    `SIGNALBOX_PUBLIC_ORIGIN is ${publicOrigin}: keys and sessions travel unencrypted, and ` +
      'browsers refuse secure cookies and passkeys.',
    'Put a proxy with TLS in front, and set SIGNALBOX_PUBLIC_ORIGIN to its https address.',
  )
}

function checkTrustedProxies(settings: Settings): Finding {
  const check = 'settings.trusted_proxies'
  const { trustedProxies, publicOrigin } = settings
  const isEveryone = trustedProxies.some(({ prefixBits }) => prefixBits === 0)
  if (isEveryone) {
    return error(
      check,
      'SIGNALBOX_TRUSTED_PROXIES contains every address, so a caller chooses the address that ' +
        'rate limits and events get.',
      'Set it to the addresses of your proxies only, such as 10.0.0.0/8.',
    )
  }
  const isBehindTls = publicOrigin?.startsWith('https:') === true
  if (isBehindTls && isPublic(settings) && trustedProxies.length === 0) {
    return warning(
      check,
      'The service is behind a proxy with TLS that it does not trust: all callers have the ' +
        "proxy's address, and share its rate limits.",
      "Set SIGNALBOX_TRUSTED_PROXIES to the proxy's address.",
    )
  }
  return ok(check, `${trustedProxies.length} ranges of proxies are trusted.`)
}

function checkMetricsHost({ metricsHost }: Settings): Finding {
  const check = 'settings.metrics_host'
  if (metricsHost !== '0.0.0.0' && metricsHost !== '::') {
    return ok(check, `Metrics listen on ${metricsHost}.`)
  }
  return warning(
    check,
    `Metrics listen on all addresses (${metricsHost}) and need no credential.`,
    'Set SIGNALBOX_METRICS_HOST to an internal address, or close the port to the internet.',
  )
}

function checkPlatformUrl(settings: Settings): Finding {
  const check = 'settings.platform_url'
  const addresses = listAddresses(settings)
  if (addresses.length === 0) {
    if (!isPublic(settings)) return ok(check, 'Events go to the simulator.')
    const advice = PLUG_INS_WITH_ADDRESS.map(
      ({ address: { variable }, label, productionUrl }) =>
        `${variable}, for ${label} to ${productionUrl}`,
    )
    return warning(
      check,
      'No platform has an address: events of a public service go to the simulator, or nowhere ' +
        'with serve.',
      `Set ${advice.join(', or ')}.`,
    )
  }
  const open = addresses.find(({ url }) => {
    const { protocol, hostname } = new URL(url)
    return protocol !== 'https:' && !isLoopbackHost(hostname)
  })
  const origins = addresses.map(({ url }) => new URL(url).origin)
  if (!open) return ok(check, `Events go to ${origins.join(', ')}.`)
  return error(
    check,
    `${open.plugIn.address.variable} is ${new URL(open.url).origin}: credentials and events ` +
      'travel unencrypted.',
    'Set it to an https address.',
  )
}

const VERSION_WARNING_DAYS = 92

/** Some platforms end each version of their API; then nothing is delivered. */
function checkPlatformVersions(settings: Settings, now: Date): Finding {
  const check = 'settings.platform_versions'
  const versions = listAddresses(settings)
    .flatMap(({ plugIn }) => {
      const version = plugIn.readVersion?.(settings)
      return version ? [{ ...version, label: plugIn.label }] : []
    })
    .sort((one, other) => Number(one.endsAt) - Number(other.endsAt))
  const [next] = versions
  if (!next) return ok(check, 'No platform in use ends its versions.')
  const { label, variable, version, endsAt } = next
  const daysLeft = Math.floor((Number(endsAt) - Number(now)) / DAY_MILLISECONDS)
  const day = endsAt.toISOString().slice(0, 10)
  const fix = `Read what newer versions change, and set ${variable} to one of them.`
  if (daysLeft < 0) {
    return error(check, `${label} ended version ${version} around ${day}.`, fix)
  }
  if (daysLeft > VERSION_WARNING_DAYS) {
    return ok(check, `${label} serves version ${version} until about ${day}.`)
  }
  return warning(check, `${label} ends version ${version} around ${day}.`, fix)
}

function checkMailSettings(settings: Settings): Finding {
  const check = 'settings.mail'
  const { mailUrl, mailFrom } = settings
  if (mailUrl === undefined) {
    if (!isPublic(settings)) return ok(check, 'Emails are written to the outbox folder.')
    return warning(
      check,
      'SIGNALBOX_MAIL_URL is not set: emails, such as sign-in links and invitations, are written ' +
        'to the folder outbox and reach no one.',
      'Set SIGNALBOX_MAIL_URL to your mail server.',
    )
  }
  if (!mailFrom.endsWith('@localhost')) return ok(check, `Emails come from ${mailFrom}.`)
  return warning(
    check,
    `Emails come from ${mailFrom}, which other mail servers reject.`,
    'Set SIGNALBOX_MAIL_FROM to an address of your domain.',
  )
}

function checkContractKey(settings: Settings): Finding {
  const check = 'settings.contract_key'
  if (settings.contractKey !== undefined) return ok(check, 'A release key signs the contract.')
  if (!isPublic(settings)) return ok(check, 'A development key signs the contract.')
  return warning(
    check,
    'SIGNALBOX_CONTRACT_KEY is not set: a development key signs the contract, and each data ' +
      'folder has another one.',
    'Set SIGNALBOX_CONTRACT_KEY to an Ed25519 private key.',
  )
}

/** Another machine, or a new container, has another data folder and could read no credential. */
function checkCredentialKey(settings: Settings): Finding {
  const check = 'settings.credential_key'
  if (settings.credentialKey !== undefined) return ok(check, 'The credential key is a setting.')
  if (!isPublic(settings)) return ok(check, 'The credential key is in the data folder.')
  return warning(
    check,
    'SIGNALBOX_CREDENTIAL_KEY is not set: the key lies in the data folder, and without it no ' +
      'stored credential can be read.',
    'Set SIGNALBOX_CREDENTIAL_KEY, the same for every process, and keep a copy elsewhere.',
  )
}

function checkSignUp(settings: Settings): Finding {
  const check = 'settings.sign_up'
  const { signUp, signUpDomains } = settings
  if (signUp !== 'open') return ok(check, `Sign-up is ${signUp}.`)
  if (signUpDomains.length > 0) return ok(check, `Sign-up is open to ${signUpDomains.join(', ')}.`)
  if (!isPublic(settings)) return ok(check, 'Sign-up is open on this machine only.')
  return warning(
    check,
    'Anyone who reaches the service may create an account and workspaces of their own.',
    'Set SIGNALBOX_SIGN_UP to invited, or SIGNALBOX_SIGN_UP_DOMAINS to your domains.',
  )
}

/** The PostgreSQL from npm gets security fixes later than that of an operating system. */
function checkBundledPostgres(settings: Settings): Finding {
  const check = 'settings.bundled_postgres'
  const { databaseUrl, postgresBinariesFolder } = settings
  const isBundled = databaseUrl === undefined && postgresBinariesFolder === undefined
  if (!isBundled) return ok(check, 'The PostgreSQL is your own.')
  if (!isPublic(settings)) return ok(check, 'The PostgreSQL from npm serves this machine only.')
  return warning(
    check,
    'The PostgreSQL from npm serves a public installation without current security fixes.',
    'Set DATABASE_URL, or SIGNALBOX_POSTGRES_BIN to a maintained PostgreSQL 18.',
  )
}
