import type { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import type { BROWSER_AGENT_OPERATIONS } from '@signalbox/contract/session/agent-operations.ts'
import type { DESTINATION_OPERATIONS } from '@signalbox/contract/session/destination-operations.ts'
import type { EVENT_OPERATIONS } from '@signalbox/contract/session/event-operations.ts'
import type { IMPORT_OPERATIONS } from '@signalbox/contract/session/import-operations.ts'
import type { ISSUE_OPERATIONS } from '@signalbox/contract/session/issue-operations.ts'
import type { KEY_OPERATIONS } from '@signalbox/contract/session/key-operations.ts'
import type { LIVE_OPERATIONS } from '@signalbox/contract/session/live-operations.ts'
import type { NOTIFICATION_OPERATIONS } from '@signalbox/contract/session/notification-operations.ts'
import type { PRIVACY_OPERATIONS } from '@signalbox/contract/session/privacy-operations.ts'
import type { REPORT_OPERATIONS } from '@signalbox/contract/session/report-operations.ts'
import type { START_OPERATIONS } from '@signalbox/contract/session/start-operations.ts'
import type { TRACKER_OPERATIONS } from '@signalbox/contract/session/tracker-operations.ts'
import type { PEOPLE_OPERATIONS } from '@signalbox/contract/session/user-operations.ts'
import type { Static, TSchema } from 'typebox'

/**
 * Every operation that the dashboard calls. Types only: the schemas stay in the service, which
 * validates, and add nothing to the script.
 */
export type Operation = (
  | typeof BROWSER_ACTION_OPERATIONS
  | typeof BROWSER_AGENT_OPERATIONS
  | typeof EVENT_OPERATIONS
  | typeof ISSUE_OPERATIONS
  | typeof IMPORT_OPERATIONS
  | typeof DESTINATION_OPERATIONS
  | typeof LIVE_OPERATIONS
  | typeof START_OPERATIONS
  | typeof KEY_OPERATIONS
  | typeof NOTIFICATION_OPERATIONS
  | typeof PEOPLE_OPERATIONS
  | typeof PRIVACY_OPERATIONS
  | typeof REPORT_OPERATIONS
  | typeof TRACKER_OPERATIONS
)[number]

type RouteOf<Each extends Operation> = Each extends Operation
  ? `${Each['method']} ${Each['url']}`
  : never

/** For example `GET /workspaces/:workspace/trackers`. */
export type Route = RouteOf<Operation>

type OperationOf<R extends Route> = Extract<
  { [O in Operation as RouteOf<O>]: O }[R],
  { schema: object }
>

type ParameterNames<Url extends string> = Url extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<`/${Rest}`>
  : Url extends `${string}:${infer Name}`
    ? Name
    : never

export type PathParameters<R extends Route> = Record<
  ParameterNames<OperationOf<R>['url']>,
  string | number
>

type SuccessSchema<Responses> = Responses extends { 200: infer S extends TSchema }
  ? S
  : Responses extends { 201: infer S extends TSchema }
    ? S
    : Responses extends { 202: infer S extends TSchema }
      ? S
      : never

/** The body of a successful response; null for 204. */
export type Answer<R extends Route> = [
  SuccessSchema<OperationOf<R>['schema']['response']>,
] extends [never]
  ? null
  : Static<SuccessSchema<OperationOf<R>['schema']['response']>>

export type Body<R extends Route> = OperationOf<R>['schema'] extends {
  body: infer S extends TSchema
}
  ? Static<S>
  : undefined
