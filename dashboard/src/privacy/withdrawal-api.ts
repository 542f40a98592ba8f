import type { LiftSubmission } from '@signalbox/contract/withdrawals.ts'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { TrackerParams } from './erasure-api.ts'

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
