import type { Database } from '../../runtime/db/database.ts'
import type { JobName } from '../../runtime/jobs/job.ts'
import { readJobStatistics } from '../../runtime/jobs/job-store.ts'
import { type CredentialKeys, openCredential } from '../../runtime/util/sealed-credential.ts'
import { readBacklog } from '../../signals/delivery/backlog-store.ts'
import { everyDestination } from '../../signals/delivery/credential-store.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import { ErasureKeyError, verifyErasureKey } from '../../signals/erasure/erasure-store.ts'
import { CredentialKeyError, loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { type DoctorContext, error, type Finding, ok, skipped, warning } from './finding.ts'
import type { StoreServer } from './server-store.ts'

export interface DeliveryExamination {
  findings: Finding[]
  /** Destinations with their opened credentials, for a request to the platform. */
  opened: OpenedDestination[]
}

export interface OpenedDestination extends Pick<Destination, 'id' | 'platform' | 'config'> {
  credential: string
}

const DESTINATIONS_MAX = 1_000

/** Keys, destinations, workers and jobs of a store with a current schema. */
export async function checkDelivery(
  context: DoctorContext,
  database: Database,
  server: StoreServer,
): Promise<DeliveryExamination> {
  const destinations: Destination[] = []
  for await (const destination of everyDestination(database)) {
    if (destinations.push(destination) === DESTINATIONS_MAX) break
  }
  const keys = await checkKeys(context, database, destinations)
  const findings = [
    keys.finding,
    checkDestinations(destinations),
    await checkWorkers(context, database, server),
    await checkJobs(database, server),
  ]
  return { findings, opened: keys.opened }
}

/** Without the right key nothing is sent, and an erased person cannot be recognized. */
async function checkKeys(
  { settings }: DoctorContext,
  database: Database,
  destinations: readonly Destination[],
): Promise<{ finding: Finding; opened: OpenedDestination[] }> {
  const check = 'keys.credential'
  const fix =
    'Set SIGNALBOX_CREDENTIAL_KEY to the key of the workers (credential-key in their data ' +
    'folder), or name it in SIGNALBOX_CREDENTIAL_KEY_PREVIOUS.'
  try {
    const keys = loadCredentialKeys(settings, 'fail')
    await verifyErasureKey(database, keys)
    return openCredentials(keys, destinations, { check, fix })
  } catch (failure) {
    const isExpected = failure instanceof CredentialKeyError || failure instanceof ErasureKeyError
    if (!isExpected) throw failure
    const isUnused = failure instanceof CredentialKeyError && destinations.length === 0
    const finding = isUnused
      ? skipped(check, 'There is no key yet, and nothing that it would open.')
      : error(check, failure.message, fix)
    return { finding, opened: [] }
  }
}

function openCredentials(
  keys: CredentialKeys,
  destinations: readonly Destination[],
  { check, fix }: { check: string; fix: string },
) {
  const results = destinations.map(destination => ({
    destination,
    result: openCredential(keys, destination.id, destination.sealedCredential),
  }))
  const opened = results.flatMap(({ destination: { id, platform, config }, result }) =>
    result === null ? [] : [{ id, platform, config, credential: result.credential }],
  )
  const closed = destinations.length - opened.length
  const previous = results.filter(({ result }) => result?.key === 'previous').length
  const finding =
    closed > 0
      ? error(check, `${closed} of ${destinations.length} credentials cannot be decrypted.`, fix)
      : previous > 0
        ? warning(
            check,
            `${previous} credentials are encrypted with a previous key.`,
            'Run "signalbox-server credential reseal", then remove ' +
              'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS.',
          )
        : ok(check, `The key decrypts every platform credential: ${destinations.length}.`)
  return { finding, opened }
}

const NAMED_MAX = 5

function checkDestinations(destinations: readonly Destination[]): Finding {
  const check = 'delivery.destinations'
  if (destinations.length === 0) {
    return warning(
      check,
      'There is no destination: events are stored and sent nowhere.',
      'Create one in the dashboard, or with "signalbox-server provision".',
    )
  }
  const inactive = destinations.filter(({ status }) => status === 'inactive')
  const paused = inactive.filter(({ pausedAt }) => pausedAt === null)
  if (inactive.length === 0)
    return ok(check, `Every destination is active: ${destinations.length}.`)
  if (paused.length === 0) {
    return ok(check, `People paused ${inactive.length} of ${destinations.length} destinations.`)
  }
  const named = paused.slice(0, NAMED_MAX).map(({ id, statusReason }) => `${id} (${statusReason})`)
  return error(
    check,
    `The platform rejects ${paused.length} of ${destinations.length} destinations, and their ` +
      `events wait: ${named.join(', ')}.`,
    'Set a new credential with "signalbox-server credential set", or correct the destination.',
  )
}

const DUE_SECONDS_MAX = 300
const WORKER_ROLES = ['all', 'deliver']

async function checkWorkers(
  { now }: DoctorContext,
  database: Database,
  { roles }: StoreServer,
): Promise<Finding> {
  const check = 'delivery.worker'
  const { active } = await readBacklog(database, now())
  const hasWorker = roles.some(role => WORKER_ROLES.includes(role))
  const minutes = Math.floor(active.oldestDueSeconds / 60)
  if (active.oldestDueSeconds <= DUE_SECONDS_MAX) {
    if (hasWorker) return ok(check, 'A delivery worker is connected, and nothing is overdue.')
    return warning(
      check,
      'No delivery worker is connected to the store.',
      'Run signalbox-server all, or deliver beside serve.',
    )
  }
  if (!hasWorker) {
    return error(
      check,
      `Events have been due for ${minutes} minutes, and no delivery worker is connected.`,
      'Run signalbox-server all, or deliver beside serve.',
    )
  }
  return error(
    check,
    `Events have been due for ${minutes} minutes although a worker is connected.`,
    'Its log and its /readyz say whether the platform answers.',
  )
}

/** Runs every hour. */
const HOURLY_JOB: JobName = 'prepare-partitions'
const AGE_SECONDS_MAX = 3 * 3_600

async function checkJobs(database: Database, { roles }: StoreServer): Promise<Finding> {
  const check = 'jobs.running'
  const fix = 'Set SIGNALBOX_JOBS to on for at least one process that runs all or deliver.'
  const { counts, successAgeSeconds } = await readJobStatistics(database, [HOURLY_JOB])
  const age = successAgeSeconds.get(HOURLY_JOB)
  if (age !== undefined && age > AGE_SECONDS_MAX) {
    const hours = Math.floor(age / 3_600)
    return error(check, `Jobs have not run for ${hours} hours: no expiry, no reports.`, fix)
  }
  if (age === undefined && roles.some(role => WORKER_ROLES.includes(role))) {
    return warning(check, 'No process has run jobs on this store yet.', fix)
  }
  if (counts.failed > 0) {
    return warning(
      check,
      `${counts.failed} jobs failed all attempts.`,
      'The log names them with their errors (message "a job failed").',
    )
  }
  return ok(check, 'Jobs run.')
}
