import { noteDataAge, waitForService } from './connection.ts'
import type { Answer, Body, PathParameters, Route } from './operations.ts'

/** A refused or failed request, as a page shows it. */
export class ApiError extends Error {
  /** 0: no response. */
  readonly status: number
  /** Leads from a page to the line in the log; null without a response. */
  readonly requestId: string | null
  /** 422: dotted field path -> sentences. */
  readonly errors: Readonly<Record<string, string[]>>

  constructor(message: string, status: number, requestId: string | null, errors = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.requestId = requestId
    this.errors = errors
  }
}

/** The sentences of a 422 about one field. */
export function fieldErrorOf(error: unknown, field: string): string | null {
  return error instanceof ApiError ? (error.errors[field]?.join(' ') ?? null) : null
}

/** Whether the fields of a form already show everything that is wrong. */
export function isShownByFields(error: unknown, fields: readonly string[]): boolean {
  if (!(error instanceof ApiError)) return false
  const named = Object.keys(error.errors)
  return named.length > 0 && named.every(field => fields.includes(field))
}

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

interface Request<R extends Route> {
  params: PathParameters<R>
  /** Members that are null, undefined or empty are left out. */
  query?: Query
  body?: Body<R>
  signal?: AbortSignal
}

/** The path of an operation with its parameters, for links to downloads. */
export function pathOf<R extends Route>(
  route: R,
  { params, query = {} }: Pick<Request<R>, 'params' | 'query'>,
): string {
  const [, url = ''] = route.split(' ')
  const given = params as Record<string, string | number>
  const path = url.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(String(given[name])))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value))
  }
  return `/browser${path}${search.size === 0 ? '' : `?${search}`}`
}

/**
 * Calls an operation of the dashboard's API with the session cookie. Throws an `ApiError`; a
 * session that has ended leads to the page for signing in, and back here afterwards.
 */
export async function call<R extends Route>(route: R, request: Request<R>): Promise<Answer<R>> {
  const [method = 'GET'] = route.split(' ')
  const { body, signal } = request
  const response = await fetch(pathOf(route, request), {
    method,
    ...(signal && { signal }),
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    void waitForService()
    throw new ApiError('Signalbox did not answer. Check your connection.', 0, null)
  })
  if (AWAY_STATUSES.includes(response.status) && !isOwnAnswer(response)) void waitForService()
  noteDataAge(response.headers)
  const requestId = response.headers.get('request-id')
  const text = await response.text()
  const answer = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : null
  if (response.ok) return answer as Answer<R>
  if (response.status === 401) signIn()
  const message = answer?.message ?? `Signalbox answered with status ${response.status}.`
  throw new ApiError(message, response.status, requestId, answer?.errors)
}

/** A proxy answers so while nothing is behind it. */
const AWAY_STATUSES = [502, 503, 504]

/** The service answers in JSON, also when it refuses because of its load. */
function isOwnAnswer({ headers }: Response): boolean {
  return headers.get('content-type')?.includes('json') ?? false
}

let isLeaving = false

/** Once: several requests of a page are refused at the same time. */
function signIn(): void {
  if (isLeaving) return
  isLeaving = true
  const here = `${location.pathname}${location.search}`
  location.assign(`/sign-in?return_to=${encodeURIComponent(here)}`)
}
