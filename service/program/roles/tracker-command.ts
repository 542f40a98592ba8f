import { Command } from 'commander'
import { commitAudited, createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import {
  type ConsentCategories,
  findConsentCategories,
  updateConsentCategories,
} from '../../signals/access/tracker-store.ts'
import { CATEGORY_PURPOSES, type CategoryPurpose } from '../../signals/consent/consent-forms.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { runOnStore } from './open-store.ts'
import { findTrackerArgument, parseTracker, type TrackerReference } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable } from './terminal-table.ts'

/** Shows or sets what the consent categories of a tracker mean. */
export async function runTracker(context: RoleContext, request: TrackerRequest): Promise<void> {
  const { settings, printStatus } = context
  await runOnStore(context, 'tracker', async ({ database }) => {
    const { trackerId, workspaceId } = await findTrackerArgument(database, request.tracker)
    if (request.categories !== null) {
      const categories = request.categories
      const keys = deriveAuditKeys(loadCredentialKeys(settings, 'fail'))
      const audit = createAuditTrail(keys, context.logger)
      await commitAudited({ database, audit }, async (transaction, record) => {
        await updateConsentCategories(transaction, trackerId, categories)
        record({
          workspaceId,
          at: context.now(),
          actor: { type: 'operator', id: null },
          action: 'tracker.consent_categories_changed',
          subject: { type: 'tracker', id: trackerId },
          details: {},
        })
      })
    }
    printStatus(formatCategories(await findConsentCategories(database, trackerId)))
  })
}

function formatCategories(categories: ConsentCategories): string {
  const rows = Object.entries(categories)
  if (rows.length === 0) return 'The tracker has no consent categories of its own.\n'
  return formatTable([['CATEGORY', 'PURPOSE'], ...rows])
}

export interface TrackerRequest {
  tracker: TrackerReference
  /** Null: only show them. */
  categories: ConsentCategories | null
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
      handle({ tracker, categories: set ?? (clear ? {} : null) }),
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
