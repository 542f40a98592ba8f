import type { LiftSubmission } from '@signalbox/contract/withdrawals.ts'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { IdentifierType } from './digest-identifier.ts'

const ERASURES = '/workspaces/:workspace/trackers/:tracker/erasures'

export interface TrackerParams {
  workspace: string
  tracker: string
}

export const receiptsKey = ({ tracker }: TrackerParams) => ['erasures', tracker]

/** The receipts of erasures, the newest first. */
export const receiptsQuery = (params: TrackerParams) =>
  infiniteQueryOptions({
    queryKey: receiptsKey(params),
    queryFn: ({ signal, pageParam }) =>
      call(`GET ${ERASURES}`, { params, query: { cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })

interface ErasedPerson {
  events: number
  sessions: number
  /** The main digest was erased before. */
  isRepeat: boolean
  /** The number of the receipt of each digest. */
  receipts: string[]
}

/**
 * Erases a person by the digest of an identifier, and by the digests of its other forms. The
 * service reaches those that events know by itself, but not an event that only has another digest.
 */
export async function erasePerson(
  params: TrackerParams,
  type: IdentifierType,
  digests: readonly string[],
): Promise<ErasedPerson> {
  const erased: ErasedPerson = { events: 0, sessions: 0, isRepeat: false, receipts: [] }
  for (const [index, digest] of digests.entries()) {
    const body = { identifier_type: type, identifier_hash: digest }
    const result = await call(`POST ${ERASURES}`, { params, body })
    erased.events += result.events_updated
    erased.sessions += result.sessions_updated
    erased.isRepeat ||= index === 0 && result.duplicate
    erased.receipts.push(result.deletion_request_id)
  }
  return erased
}

const WITHDRAWALS = '/workspaces/:workspace/trackers/:tracker/withdrawals'

export const withdrawalsKey = ({ tracker }: TrackerParams) => ['withdrawals', tracker]

/** The withdrawals that pages sent, the latest first. */
export const withdrawalsQuery = (params: TrackerParams) =>
  infiniteQueryOptions({
    queryKey: withdrawalsKey(params),
    queryFn: ({ signal, pageParam }) => {
      const query = pageParam === '' ? {} : { cursor: pageParam }
      return call(`GET ${WITHDRAWALS}`, { params, query, signal })
    },
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })

/** Lifts withdrawals; the service queues what only they had stopped. */
export function liftWithdrawals(params: TrackerParams, body: LiftSubmission) {
  return call(`POST ${WITHDRAWALS}/lift`, { params, body })
}
