import Type, { type TSchema } from 'typebox'
import { MessageError, ValidationError } from '../errors.ts'
import { INTEGER_MAX } from '../scalars.ts'

/** The path of the dashboard's API, under the public origin. It is not for other programs. */
export const SESSION_API_PATH = '/browser'

/** 401: not signed in. 403: the request comes from another site, or the role does not allow it. */
export const REFUSALS = { 401: MessageError, 403: MessageError } as const
export const FOUND_REFUSALS = { ...REFUSALS, 404: MessageError } as const
export const CHECKED_REFUSALS = { ...REFUSALS, 422: ValidationError } as const
export const ALL_REFUSALS = { ...FOUND_REFUSALS, 422: ValidationError } as const
export const Nothing = Type.Unsafe<undefined>({})

/** The query of a list with pages. */
export const PageQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: INTEGER_MAX })),
})

/** The query of a list that ends with the position of its next page. */
export const CursorQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({ maxLength: 500, description: 'The `next_cursor` of a page before.' }),
  ),
})

/** An operation of the dashboard that reads, in the shape of a Fastify route. */
export function read<
  const Id extends string,
  const Url extends string,
  Response extends Record<number, TSchema>,
>(operationId: Id, url: Url, response: Response) {
  return {
    method: 'GET',
    url,
    config: { operationId, credential: 'session' },
    schema: { response },
  } as const
}

/** An operation that reads what its query parameters select. */
export function query<
  const Id extends string,
  const Url extends string,
  Query extends TSchema,
  Response extends Record<number, TSchema>,
>(operationId: Id, url: Url, schema: { querystring: Query; response: Response }) {
  return { method: 'GET', url, config: { operationId, credential: 'session' }, schema } as const
}

interface WriteSchema {
  body?: TSchema
  response: Record<number, TSchema>
}

type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An operation of the dashboard that changes something, in the shape of a Fastify route. */
export function write<
  const Id extends string,
  const Method extends WriteMethod,
  const Url extends string,
  Schema extends WriteSchema,
>(operationId: Id, route: `${Method} ${Url}`, schema: Schema) {
  const [method, url] = route.split(' ') as [Method, Url]
  return { method, url, config: { operationId, credential: 'session' }, schema } as const
}
