import Type from 'typebox'
import { EventSpaceQuery } from '../events.ts'
import { EventDetails, EventExport, EventSearch, EventSearchPage } from './events.ts'
import { ReplayOutcome, ReplayPreview, ReplayProgress, ReplaySelection } from './replays.ts'
import { ALL_REFUSALS, query, read, write } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

export const searchEvents = query('searchEvents', `${TRACKER_PATH}/events`, {
  querystring: EventSearch,
  response: { 200: EventSearchPage, ...ALL_REFUSALS },
})

/** The events that a search finds, newest first, at most 10,000. */
export const exportEvents = query('exportEvents', `${TRACKER_PATH}/exports/events`, {
  querystring: EventExport,
  response: { 200: Type.String(), ...ALL_REFUSALS },
})

/** `?space=publishable` selects the event of a page when both kinds of keys sent the ID. */
export const getEventDetails = query('getEventDetails', `${TRACKER_PATH}/events/:event`, {
  querystring: EventSpaceQuery,
  response: {
    200: EventDetails,
    ...ALL_REFUSALS,
  },
})

export const previewReplay = write('previewReplay', `POST ${TRACKER_PATH}/replays/preview`, {
  body: ReplaySelection,
  response: { 200: ReplayPreview, ...ALL_REFUSALS },
})

export const startReplay = write('startReplay', `POST ${TRACKER_PATH}/replays`, {
  body: ReplaySelection,
  response: { 200: ReplayOutcome, ...ALL_REFUSALS },
})

/** The replay is named by the `replayed_at` of its answer. */
export const getReplayProgress = read('getReplayProgress', `${TRACKER_PATH}/replays/:replay`, {
  200: ReplayProgress,
  ...ALL_REFUSALS,
})

export const EVENT_OPERATIONS = [
  searchEvents,
  exportEvents,
  getEventDetails,
  previewReplay,
  startReplay,
  getReplayProgress,
] as const
