import Type from 'typebox'
import { DeletionResult, DeletionSubmission } from './deletions.ts'
import { READ_ERRORS, ValidationError, WRITE_ERRORS } from './errors.ts'
import {
  EventList,
  PAGE_MAX,
  PER_PAGE_DEFAULT,
  PER_PAGE_MAX,
  PER_PAGE_NUMBER_MAX,
} from './event-pages.ts'
import { EmqReport, ReconciliationReports } from './reports.ts'

/** The operations that read stored data, and the one that erases a person. */
export const listEvents = {
  method: 'GET',
  url: '/dashboard/events',
  config: {
    operationId: 'listEvents',
    summary: 'List the events of the tracker, newest first',
    description:
      'Each event includes its deliveries. The metrics count live deliveries of the last seven ' +
      'days.',
    tag: 'Events',
    credential: 'tracker',
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: {
    querystring: Type.Object({
      page: Type.Optional(
        Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 1, description: 'Counted from 1.' }),
      ),
      per_page: Type.Optional(
        Type.Integer({
          format: 'int64',
          minimum: 1,
          maximum: PER_PAGE_NUMBER_MAX,
          default: PER_PAGE_DEFAULT,
          description: `Events per page; larger values are capped at ${PER_PAGE_MAX}.`,
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
    summary: "Compare one day's counts with the platform's counts",
    description:
      'One report per destination. It is created on the next day and updated two days later, ' +
      'because platforms count late. The list is empty for a day without reports.',
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
    summary: 'Read how well the platform can match events to people',
    description: 'One snapshot per day and destination, newest first.',
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
      'Deletes the identity of every event and session with that digest, and cancels their ' +
      'pending deliveries. A repeated request returns the same request id and erases what ' +
      'arrived since.',
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
