import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import { Command } from 'commander'
import { commitAudited, createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import {
  type ConsentCategories,
  findConsentCategories,
  findSharesPageIds,
  type TrackerIdentity,
  updateConsentCategories,
  updateSharesPageIds,
} from '../../signals/access/tracker-store.ts'
import { CATEGORY_PURPOSES, type CategoryPurpose } from '../../signals/consent/consent-forms.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { runOnStore } from './open-store.ts'
import {
  findTrackerArgument,
  parseChoiceOf,
  parseTracker,
  SHARING_MEANING,
  type TrackerReference,
} from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable } from './terminal-table.ts'

/** Shows or sets what the consent categories of a tracker mean, or whether pages share IDs. */
export async function runTracker(context: RoleContext, request: TrackerRequest): Promise<void> {
  await runOnStore(context, 'tracker', async ({ database }) => {
    const tracker = await findTrackerArgument(database, request.tracker)
    if (request.subject === 'categories')
      await runCategories(context, { database, tracker, request })
    else await runPageIds(context, { database, tracker, request })
  })
}

interface TrackerRun<Request> {
  database: Database
  tracker: TrackerIdentity
  request: Request
}

async function runCategories(
  context: RoleContext,
  { database, tracker, request: { categories } }: TrackerRun<CategoriesRequest>,
): Promise<void> {
  const { trackerId } = tracker
  if (categories !== null) {
    await commitChange(context, { database, tracker }, async (transaction, record) => {
      await updateConsentCategories(transaction, trackerId, categories)
      record('tracker.consent_categories_changed', {})
    })
  }
  context.printStatus(formatCategories(await findConsentCategories(database, trackerId)))
}

async function runPageIds(
  context: RoleContext,
  { database, tracker, request: { share } }: TrackerRun<PageIdsRequest>,
): Promise<void> {
  const { trackerId } = tracker
  if (share !== null) {
    await commitChange(context, { database, tracker }, async (transaction, record) => {
      const isChanged = await updateSharesPageIds(transaction, trackerId, share)
      if (isChanged) record('tracker.page_id_sharing_changed', { share_page_ids: share })
    })
  }
  const isOn = await findSharesPageIds(database, trackerId)
  context.printStatus(`Pages share event IDs: ${isOn ? 'on' : 'off'}. ${SHARING_MEANING}\n`)
}

type RecordChange = (action: AuditAction, details: Record<string, boolean>) => void

/** Commits a change of the operator with its audit entry. */
async function commitChange(
  { settings, now, logger }: RoleContext,
  { database, tracker: { trackerId, workspaceId } }: Omit<TrackerRun<unknown>, 'request'>,
  change: (transaction: Transaction, record: RecordChange) => Promise<void>,
): Promise<void> {
  const audit = createAuditTrail(deriveAuditKeys(loadCredentialKeys(settings, 'fail')), logger)
  const actor = { type: 'operator', id: null } as const
  const subject = { type: 'tracker', id: trackerId } as const
  await commitAudited({ database, audit }, (transaction, record) =>
    change(transaction, (action, details) =>
      record({ workspaceId, at: now(), actor, action, subject, details }),
    ),
  )
}

function formatCategories(categories: ConsentCategories): string {
  const rows = Object.entries(categories)
  if (rows.length === 0) return 'The tracker has no consent categories of its own.\n'
  return formatTable([['CATEGORY', 'PURPOSE'], ...rows])
}

export type TrackerRequest = { tracker: TrackerReference } & (CategoriesRequest | PageIdsRequest)

interface CategoriesRequest {
  subject: 'categories'
  /** Null: only show them. */
  categories: ConsentCategories | null
}

interface PageIdsRequest {
  subject: 'page_ids'
  /** Null: only show it. */
  share: boolean | null
}

const CATEGORIES_MAX = 50
const CATEGORY_LENGTH_MAX = 64

export function defineTrackerCommand(handle: (request: TrackerRequest) => Promise<void>): Command {
  const command = new Command()
  command
    .command('categories')
    .description('show or set what the categories of your consent platform mean')
    .requiredOption('--tracker <id>', 'ID of the tracker or of its workspace', parseTracker)
    .option(
      '--set <category=purpose>',
      `${CATEGORY_PURPOSES.join(', ')}; may repeat, and replaces all earlier ones`,
      collectCategory,
    )
    .option('--clear', 'remove all of them')
    .action(({ tracker, set, clear }) =>
      handle({ tracker, subject: 'categories', categories: set ?? (clear ? {} : null) }),
    )
  command
    .command('page-ids')
    .description('show or set whether pages share event IDs with the tracker secret')
    .requiredOption('--tracker <id>', 'ID of the tracker or of its workspace', parseTracker)
    .option('--share <on|off>', 'the new setting', parseChoiceOf('--share', ['on', 'off']))
    .action(({ tracker, share }) =>
      handle({ tracker, subject: 'page_ids', share: share === undefined ? null : share === 'on' }),
    )
  return command
}

function collectCategory(text: string, earlier: ConsentCategories = {}): ConsentCategories {
  const [category = '', purpose = ''] = text.split('=').map(part => part.trim())
  const isKnown = CATEGORY_PURPOSES.includes(purpose as CategoryPurpose)
  if (category === '' || category.length > CATEGORY_LENGTH_MAX || !isKnown) {
    const purposes = CATEGORY_PURPOSES.join(', ')
    throw new StartError(
      `--set takes a category and its purpose, such as C0006=advertising, not ${text}. ` +
        `The purposes are ${purposes}.`,
    )
  }
  const categories = { ...earlier, [category]: purpose }
  if (Object.keys(categories).length > CATEGORIES_MAX) {
    throw new StartError(`A tracker has at most ${CATEGORIES_MAX} consent categories.`)
  }
  return categories
}
