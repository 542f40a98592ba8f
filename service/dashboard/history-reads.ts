import type { Database } from '../runtime/db/database.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readCookie, serializeCookie } from '../workspaces/users/session-token.ts'
import type { DashboardContext } from './dashboard-context.ts'

type HistoryContext = Pick<DashboardContext, 'readDatabase' | 'publicOrigin'>

export interface HistoryExchange {
  request: { headers: { cookie?: string | undefined } }
  reply: { header(name: string, value: string): unknown }
}

/** Seconds by which an answer may be old. Without a replica, no answer has it. */
const AGE_HEADER = 'signalbox-data-age'
/** Set for as long as a replica may lack what this session wrote. */
const COOKIE = 'signalbox_wrote'

/**
 * Reads from the replica, if there is one that can be used. Only for lists and counts of what
 * happened: they may be some seconds old, and nothing is decided by them. What answers 404 for rows
 * that it does not find reads from the primary (docs/decisions/0076).
 */
export async function readHistory<T>(
  context: HistoryContext,
  { request, reply }: HistoryExchange,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { readDatabase, publicOrigin } = context
  const hasWritten = readCookie(request.headers.cookie, publicOrigin(), COOKIE) !== undefined
  const { value, ageSeconds } = await readDatabase.read(work, { hasWritten })
  if (readDatabase.ownWriteSeconds !== null) reply.header(AGE_HEADER, String(Math.ceil(ageSeconds)))
  return value
}

/**
 * After a change, the browser says for a while that it made one, so that people see what they did.
 * A cookie does it in every process that shares the store, and without a row of it.
 */
export function markChanges(api: ServiceApp, context: HistoryContext): void {
  const { ownWriteSeconds: secondsMax } = context.readDatabase
  if (secondsMax === null) return
  api.addHook('onSend', async ({ method }, reply) => {
    if (method === 'GET' || method === 'HEAD') return
    const cookie = { name: COOKIE, value: '1', secondsMax }
    reply.header('set-cookie', serializeCookie(context.publicOrigin(), cookie))
  })
}
