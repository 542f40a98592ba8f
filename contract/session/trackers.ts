import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'

/** What a category of the tracker's own consent platform means. */
const CATEGORY_PURPOSES = ['advertising', 'social_media', 'sale', 'other']

const ConsentCategories = named(
  'ConsentCategories',
  Type.Record(Type.String(), Type.String({ enum: CATEGORY_PURPOSES }), {
    maxProperties: 50,
    description: 'IDs or names of categories, such as `C0006`, each with its purpose.',
  }),
)

/** What the switch trusts is said beside it, in the dashboard and by the command. */
const SharePageIds = Type.Boolean({
  description:
    'Whether events of pages are sent under their own IDs. Platforms then count the event of a ' +
    'page, of their own pixel and of the back end with the same ID once. It trusts the pages: ' +
    'who copies their key can send an ID before the back end does, and the platform drops the ' +
    "back end's event. Without it, pages' events of names that the tracker secret sends too get " +
    'the prefix `p.`.',
})

const TrackerSummary = named(
  'TrackerSummary',
  Type.Object({
    id: Type.String({ format: 'uuid', description: 'The tracker.' }),
    name: Type.String(),
    created_at: timestamp('When it was created.'),
    consent_categories: ConsentCategories,
    share_page_ids: SharePageIds,
  }),
)

export const TrackerList = named(
  'TrackerList',
  Type.Object({ trackers: Type.Array(TrackerSummary, { description: 'Oldest first.' }) }),
)
export type TrackerList = Static<typeof TrackerList>

/** Visible text; a label, never an identifier. */
const TrackerName = Type.String({ minLength: 1, maxLength: 100 })

export const TrackerSubmission = named(
  'TrackerSubmission',
  Type.Object({
    name: TrackerName,
    origins: Type.Optional(
      Type.Array(Type.String({ maxLength: 300 }), {
        maxItems: 20,
        description: 'The websites whose pages may send events, such as `https://shop.example`.',
      }),
    ),
    /** Required with `origins`; false without any. */
    share_page_ids: Type.Optional(SharePageIds),
  }),
)
export type TrackerSubmission = Static<typeof TrackerSubmission>

export const TrackerChange = named(
  'TrackerChange',
  Type.Object({
    name: Type.Optional(TrackerName),
    consent_categories: Type.Optional(ConsentCategories),
    share_page_ids: Type.Optional(SharePageIds),
  }),
)
export type TrackerChange = Static<typeof TrackerChange>

const key = (description: string) => Type.String({ description })

export const CreatedTracker = named(
  'CreatedTracker',
  Type.Object({
    ...TrackerSummary.properties,
    keys: named(
      'TrackerKeys',
      Type.Object(
        {
          secret: key('For servers.'),
          publishable: nullable(key('For the pages of `origins`; null without any.')),
          forwarding: nullable(key('For a forwarder in front of these pages; null without any.')),
        },
        { description: 'Shown only once.' },
      ),
    ),
  }),
)
export type CreatedTracker = Static<typeof CreatedTracker>
