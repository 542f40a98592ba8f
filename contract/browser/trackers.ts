import Type, { type Static } from 'typebox'
import { named, timestamp } from '../scalars.ts'

export const TrackerSummary = named(
  'TrackerSummary',
  Type.Object({
    id: Type.String({ format: 'uuid', description: 'The tracker.' }),
    name: Type.String(),
    created_at: timestamp('When it was created.'),
  }),
)

export const TrackerList = named(
  'TrackerList',
  Type.Object({ trackers: Type.Array(TrackerSummary, { description: 'Oldest first.' }) }),
)
export type TrackerList = Static<typeof TrackerList>
