import type { MantineColor } from '@mantine/core'
import type { DestinationStatus } from '@signalbox/contract/session/destinations.ts'

export interface Health {
  label: string
  color: MantineColor
  /** What it means for the events; null when there is nothing to say. */
  sentence: string | null
}

/** The one word about a destination, and what it means. The words are those of docs/states.md. */
export function describeHealth(status: DestinationStatus): Health {
  const { destination, credential, backoff } = status
  if (status.paused_at !== null) {
    return { label: 'Paused', color: 'yellow', sentence: PAUSED_BY_PERSON }
  }
  if (destination.status === 'inactive') {
    const reason = String(destination.config?.status_reason ?? 'The platform rejects the requests.')
    return { label: 'Rejected', color: 'red', sentence: `${reason} ${PAUSED}` }
  }
  if (credential === 'unreadable') {
    return { label: 'Unreadable credential', color: 'red', sentence: UNREADABLE }
  }
  switch (backoff?.cause) {
    case 'unreachable':
      return { label: 'Unreachable', color: 'yellow', sentence: UNREACHABLE }
    case 'throttled':
      return { label: 'Throttled', color: 'yellow', sentence: THROTTLED }
    case 'request_limit':
      return { label: 'Request limit', color: 'yellow', sentence: REQUEST_LIMIT }
    case undefined:
      return credential === 'accepted'
        ? { label: 'Active', color: 'brand', sentence: null }
        : { label: 'Not used yet', color: 'gray', sentence: UNTRIED }
  }
}

/** What people call a destination; without a name, its platform and target. */
export function nameOf({ status, platform }: NamedDestination): string {
  return status.name ?? `${platform?.label ?? status.destination.type} ${status.target}`
}

interface NamedDestination {
  status: DestinationStatus
  platform: { label: string } | undefined
}

const PAUSED_BY_PERSON =
  'A person paused it. Events wait and use up no attempt until a person resumes it.'
const PAUSED =
  'Events wait and use up no attempt. Replace the credential, or correct it at the platform and ' +
  'check now.'
const UNREADABLE =
  'No key of this installation opens the credential. Enter it again, or restore the key of the ' +
  'installation.'
const UNREACHABLE =
  'The platform gives no usable answer. Single requests try it until one succeeds; events wait ' +
  'and use up no attempt.'
const THROTTLED = 'The platform asked for a pause. Events wait and use up no attempt.'
const REQUEST_LIMIT =
  'The requests that the destinations with this key share are used up for now. Events wait and ' +
  'use up no attempt.'
const UNTRIED =
  'No request with this credential has been answered. Send a test purchase to see whether it works.'

export const CREDENTIAL_LABELS: Record<DestinationStatus['credential'], string> = {
  accepted: 'Accepted by the platform',
  rejected: 'Rejected by the platform',
  unreadable: 'Cannot be opened',
  untried: 'Not used yet',
}

type Outcome = NonNullable<DestinationStatus['last_request']>['outcome']

export const OUTCOME_LABELS: Record<Outcome, string> = {
  accepted: 'Accepted',
  retry: 'Temporary error',
  throttle: 'Too many requests',
  auth: 'Credential rejected',
  config: 'Configuration rejected',
  permanent: 'Content rejected',
  unknown: 'No usable answer',
}
