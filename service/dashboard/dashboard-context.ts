import type { WorkspaceAction, WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import { CursorQuery } from '@signalbox/contract/session/session-operation.ts'
import type { ReadDatabase } from '../runtime/db/replica/read-replica.ts'
import type { AddressedRequest } from '../runtime/http/client-address.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceLogger } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { isUuid } from '../runtime/util/ids.ts'
import type { CredentialKeys } from '../runtime/util/sealed-credential.ts'
import { findTracker, type TrackerIdentity } from '../signals/access/tracker-store.ts'
import type { DeliveryContext } from '../signals/delivery/delivery-context.ts'
import type { TestModeContext } from '../signals/delivery/test-mode.ts'
import type { ErasureKeyProvider } from '../signals/events/person-identifiers.ts'
import type { CurrentUser, SessionContext } from '../workspaces/users/session-store.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import type { StreamSlots } from './live/stream-limit.ts'

/** What the operations of the dashboard depend on. */
export interface DashboardContext extends SessionContext, TestModeContext {
  logger: ServiceLogger
  /** For `readHistory`; everything else reads and writes `database`. */
  readDatabase: ReadDatabase
  /** For test purchases; null in a process without a platform URL. */
  delivery: DeliveryContext | null
  erasureKey: ErasureKeyProvider
  credentialKeys: CredentialKeys
  /** For the connection that listens for live views. */
  connectionString: string
  streamSlots: StreamSlots | undefined
  /** The address of a client, as the rate limits count it. */
  addressOf: (request: AddressedRequest) => string
  /** The destinations of a tracker changed, or the test mode of one. */
  onDestinationChanged: (trackerId: string) => void
  /** Deliveries became due. */
  onDeliveriesQueued: (trackerId: string) => void
}

/** A request below `TRACKER_PATH`; its parameters are not validated yet. */
export interface TrackerRequest {
  user: CurrentUser
  params: unknown
}

/** With the role of the person who asks. */
interface RequestedTracker extends TrackerIdentity {
  role: WorkspaceRole
}

/**
 * Returns the tracker of a request, once the role of the person allows the action. Throws a 403
 * when it does not, and a 404 for a tracker of another workspace as for one that does not exist.
 */
export async function requireTracker(
  { database }: DashboardContext,
  { user, params }: TrackerRequest,
  action: WorkspaceAction,
): Promise<RequestedTracker> {
  const { workspace, tracker: trackerId } = readPathParameters(params, 'workspace', 'tracker')
  const intent = { workspaceId: workspace, action }
  const { workspaceId, role } = await requireRole(database, user, intent)
  const tracker = isUuid(trackerId) ? await findTracker(database, trackerId) : null
  if (tracker?.workspaceId !== workspaceId) throw Refusal.notFound('Tracker not found.')
  return { ...tracker, role }
}

/** Rows of one page of a list in the dashboard. */
export const PAGE_ROWS = 50

/** The position after the last row of a page, as an opaque text for `?cursor=`. */
export function encodeCursor(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

const INVALID_CURSOR = 'The cursor field must be a next_cursor of this list.'
const cursorValidator = new Validator(CursorQuery, {
  members: { cursor: { error: INVALID_CURSOR } },
})

/**
 * Reads `cursor` from a query; null for the first page. `parse` returns null for texts that are no
 * position of this list. Throws a 422 refusal for a cursor that this service did not make.
 */
export function readCursor<Position>(
  query: unknown,
  parse: (position: readonly string[]) => Position | null,
): Position | null {
  const { cursor } = cursorValidator.validate(query)
  if (cursor === undefined) return null
  const position = decodeCursor(cursor)
  const parsed = position && parse(position)
  if (parsed) return parsed
  throw Refusal.ofFields({ cursor: [INVALID_CURSOR] })
}

function decodeCursor(cursor: string): string[] | null {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const isPosition = Array.isArray(decoded) && decoded.every(part => typeof part === 'string')
    return isPosition ? decoded : null
  } catch {
    return null
  }
}
