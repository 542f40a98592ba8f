import type { SESSION_OPERATIONS } from '@signalbox/contract/session/session-operations.ts'
import type { Static, TSchema } from 'typebox'

/**
 * Every operation that the dashboard calls. Types only: the schemas stay in the service, which
 * validates, and add nothing to the script.
 */
export type Operation = (typeof SESSION_OPERATIONS)[number]

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
