import {
  Forwarder,
  ForwarderCheck,
  ForwarderQuery,
  IssuedTrackerKey,
  KeySubmission,
  TrackerKeyList,
} from './keys.ts'
import {
  ALL_REFUSALS,
  CursorQuery,
  FOUND_REFUSALS,
  Nothing,
  query,
  write,
} from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

/** `?cursor=` leads to more revoked keys. */
export const listTrackerKeys = query('listTrackerKeys', `${TRACKER_PATH}/keys`, {
  querystring: CursorQuery,
  response: {
    200: TrackerKeyList,
    ...ALL_REFUSALS,
  },
})
/** 403: the person has not confirmed their identity recently. */
export const issueTrackerKey = write('issueTrackerKey', `POST ${TRACKER_PATH}/keys`, {
  body: KeySubmission,
  response: { 201: IssuedTrackerKey, ...ALL_REFUSALS },
})
/** Issues a second key like this one, which stays valid until it is revoked. */
export const rotateTrackerKey = write(
  'rotateTrackerKey',
  `POST ${TRACKER_PATH}/keys/:key/rotation`,
  { response: { 201: IssuedTrackerKey, ...ALL_REFUSALS } },
)
export const revokeTrackerKey = write('revokeTrackerKey', `DELETE ${TRACKER_PATH}/keys/:key`, {
  response: { 204: Nothing, ...FOUND_REFUSALS },
})

/** `?path=` is the forwarder's path in the shop, /sb by default. */
export const getForwarder = query('getForwarder', `${TRACKER_PATH}/forwarders/:kind`, {
  querystring: ForwarderQuery,
  response: {
    200: Forwarder,
    ...ALL_REFUSALS,
  },
})
/** Whether signed requests arrive. `?path=` as above; the service sends no request to the shop. */
export const checkForwarder = query('checkForwarder', `${TRACKER_PATH}/forwarder-check`, {
  querystring: ForwarderQuery,
  response: {
    200: ForwarderCheck,
    ...ALL_REFUSALS,
  },
})

export const KEY_OPERATIONS = [
  ...[listTrackerKeys, issueTrackerKey, rotateTrackerKey, revokeTrackerKey],
  ...[getForwarder, checkForwarder],
] as const
