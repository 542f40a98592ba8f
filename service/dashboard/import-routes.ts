import type { EventResult } from '@signalbox/contract/event-batches.ts'
import * as operations from '@signalbox/contract/session/import-operations.ts'
import {
  EventsToCheck,
  IMPORTS_LISTED_MAX,
  ImportedEvents,
  ImportSubmission,
  type ImportView,
} from '@signalbox/contract/session/imports.ts'
import { commitAudited } from '../audit/audit-store.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { generateUuidV7, isUuid } from '../runtime/util/ids.ts'
import { findSubmittingTracker, type TrackerIdentity } from '../signals/access/tracker-store.ts'
import { findTrackerPlatforms } from '../signals/ingestion/accept-event.ts'
import { checkEvent } from '../signals/ingestion/check-event.ts'
import { acceptImported, type BatchContext } from '../signals/ingestion/create-events.ts'
import {
  addImportCounts,
  findImport,
  insertImport,
  listImports,
  type StoredImport,
} from '../signals/ingestion/import-store.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import { type DashboardContext, requireTracker } from './dashboard-context.ts'

export type ImportContext = DashboardContext & BatchContext

/** A hundred events of the largest size would be more; the page sends smaller requests then. */
const IMPORT_BYTES_MAX = 1_048_576

const submissionValidator = new Validator(ImportSubmission)
const eventsValidator = new Validator(ImportedEvents)
const checkValidator = new Validator(EventsToCheck)

/** Imports of files: the browser reads the file, and sends its rows as events. */
export function importRoutes(app: ServiceApp, context: ImportContext): void {
  const { database, now } = context
  app.route({
    ...operations.listImports,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      const imports = await listImports(database, { trackerId, limit: IMPORTS_LISTED_MAX })
      return { imports: imports.map(importView) }
    },
  })
  app.route({
    ...operations.checkImport,
    bodyLimit: IMPORT_BYTES_MAX,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const { events } = checkValidator.validate(request.body)
      const { consentCategories: categories } = await findSubmittingTracker(database, tracker)
      const platforms = await findTrackerPlatforms(context, tracker)
      const { settings } = context
      const results = events.map(event => {
        const found = checkEvent(event, { platforms, now: now(), settings, categories })
        return {
          is_valid: found.isValid,
          errors: found.errors,
          is_past_window: found.isPastWindow,
          is_withheld: found.isWithheld,
          notices: found.notices,
        }
      })
      return { results }
    },
  })
  app.route({
    ...operations.startImport,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const submission = submissionValidator.validate(request.body)
      const started = await startImport(context, { user: request.user, tracker, submission })
      return reply.code(201).send(importView(started))
    },
  })
  app.route({
    ...operations.importEvents,
    bodyLimit: IMPORT_BYTES_MAX,
    async handler(request) {
      const requested = await requireTracker(context, request, 'manage_deliveries')
      const tracker = await findSubmittingTracker(database, requested)
      const { trackerId } = tracker
      const key = { trackerId, ...readImportId(request.params) }
      const given = eventsValidator.validate(request.body)
      if (!(await findImport(database, key))) throw importNotFound()
      const { id, url, log, ip } = request
      const session = { id, url, log, ip, tracker }
      const results = await acceptImported(context, session, given.events)
      await addImportCounts(database, key, {
        ...countResults(results),
        refused: results.filter(isRefused).length + (given.unread ?? 0),
        blank: given.blank ?? 0,
        finishedAt: given.is_last ? now() : null,
      })
      return { results }
    },
  })
}

interface StartRequest {
  user: CurrentUser
  tracker: TrackerIdentity
  submission: ImportSubmission
}

async function startImport(
  context: DashboardContext,
  { user, tracker: { trackerId, workspaceId }, submission }: StartRequest,
): Promise<StoredImport> {
  const at = context.now()
  const id = generateUuidV7(at)
  const fileName = submission.file_name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
  await commitAudited(context, async (transaction, record) => {
    const fileDigest = submission.file_digest
    await insertImport(transaction, { trackerId, id, fileName, fileDigest, at })
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: 'import.started',
      subject: { type: 'tracker', id: trackerId },
      details: { import: id, file_digest: fileDigest },
    })
  })
  const none = { stored: 0, duplicates: 0, refused: 0, blank: 0 }
  return { id, fileName, createdAt: at, finishedAt: null, ...none }
}

/** The first 48 bits of the ID are its time, by which the primary key is read. */
function readImportId(params: unknown): { id: string; createdAt: Date } {
  const { import: id } = readPathParameters(params, 'import')
  if (!isUuid(id)) throw importNotFound()
  const milliseconds = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  const createdAt = new Date(milliseconds)
  if (Number.isNaN(createdAt.getTime())) throw importNotFound()
  return { id: id.toLowerCase(), createdAt }
}

function importNotFound(): Refusal {
  return Refusal.notFound('Import not found.')
}

const ACCEPTED = 202

/** A result that asks for another try is sent again, so it is not counted yet. */
function isRefused({ status }: EventResult): boolean {
  return status > ACCEPTED && status !== 429 && status !== 503
}

function countResults(results: readonly EventResult[]) {
  const taken = results.filter(({ status }) => status <= ACCEPTED)
  const duplicates = taken.filter(({ duplicate }) => duplicate === true).length
  return { stored: taken.length - duplicates, duplicates }
}

function importView({ id, fileName, createdAt, finishedAt, ...counts }: StoredImport): ImportView {
  const { stored, duplicates, refused, blank } = counts
  return {
    id,
    file_name: fileName,
    stored,
    duplicates,
    refused,
    blank,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
  }
}
