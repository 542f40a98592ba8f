import Type from 'typebox'
import { DeletionResult, DeletionSubmission } from './deletions.ts'
import { READ_ERRORS, ValidationError, WRITE_ERRORS } from './errors.ts'
import { EventList, PER_PAGE_DEFAULT, PER_PAGE_MAX } from './event-pages.ts'
import { EmqReport, ReconciliationReports } from './reports.ts'

/** The operations that look at what was stored, and the one that forgets a person. */
export const listEvents = {
  method: 'GET',
  url: '/dashboard/events',
  config: {
    operationId: 'listEvents',
    summary: 'List the events of the tracker, the newest first',
    description:
      'Each event comes with its deliveries. The metrics count live deliveries of the last seven ' +
      'days.',
    tag: 'Events',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: {
    querystring: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1, default: 1, description: 'Counted from 1.' })),
      per_page: Type.Optional(
        Type.Integer({
          minimum: 1,
          default: PER_PAGE_DEFAULT,
          description: `Events a page; more than ${PER_PAGE_MAX} are capped.`,
        }),
      ),
    }),
    response: { 200: EventList, ...READ_ERRORS, 422: ValidationError },
  },
} as const

export const getReconciliationReport = {
  method: 'GET',
  url: '/reports/reconciliation',
  config: {
    operationId: 'getReconciliationReport',
    summary: 'Compare our counts of a day with what the platform counted',
    description:
      'One report a destination. It is made on the next day and again two days later, because ' +
      'platforms count late. A day without a report has an empty list.',
    tag: 'Reports',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: {
    querystring: Type.Object({
      date: Type.String({ format: 'date', description: 'UTC day, YYYY-MM-DD.' }),
    }),
    response: { 200: ReconciliationReports, ...READ_ERRORS, 422: ValidationError },
  },
} as const

export const getEmqReport = {
  method: 'GET',
  url: '/reports/emq',
  config: {
    operationId: 'getEmqReport',
    summary: 'How well the platform can match the events to people',
    description: 'One snapshot a day and destination, the newest first.',
    tag: 'Reports',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: { response: { 200: EmqReport, ...READ_ERRORS } },
} as const

export const deleteUserData = {
  method: 'DELETE',
  url: '/user-data',
  config: {
    operationId: 'deleteUserData',
    summary: 'Erase a person, identified by the digest of one identifier',
    description:
      'Removes the identity of every event and session with that digest, and stops what waits ' +
      'to be delivered. Repeating it gives the same request id, and forgets what came since.',
    tag: 'User data',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: {
    body: DeletionSubmission,
    response: { 200: DeletionResult, ...WRITE_ERRORS, 422: ValidationError },
  },
} as const
