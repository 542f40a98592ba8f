import Type, { type Static } from 'typebox'
import { EventResult } from '../event-batches.ts'
import { freeForm, INTEGER_MAX, named, nullable, timestamp } from '../scalars.ts'
import { IngestionNotice } from '../submissions.ts'

/** Events of one request. */
export const IMPORTED_EVENTS_MAX = 100
/** The latest imports that are listed. */
export const IMPORTS_LISTED_MAX = 50
const FILE_NAME_CHARACTERS_MAX = 120

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description })

/** A file that a person imports; it stays in the browser. */
export const ImportSubmission = Type.Object({
  file_name: Type.String({ minLength: 1, maxLength: FILE_NAME_CHARACTERS_MAX }),
  file_digest: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the file.' }),
})
export type ImportSubmission = Static<typeof ImportSubmission>

const events = Type.Array(freeForm('As the body of createEvent, with digests of identifiers.'), {
  maxItems: IMPORTED_EVENTS_MAX,
  description: 'None at the end of a file whose last rows cannot be read.',
})

export const ImportedEvents = Type.Object({
  events,
  unread: Type.Optional(count('Rows before these that could not be read, and are refused.')),
  blank: Type.Optional(count('Rows before these without any value.')),
  is_last: Type.Optional(Type.Boolean({ description: 'The file has no further row.' })),
})
export type ImportedEvents = Static<typeof ImportedEvents>

export const EventsToCheck = Type.Object({ events })

export const ImportResults = named(
  'ImportResults',
  Type.Object({
    results: Type.Array(EventResult, { description: 'One for each event, in their order.' }),
  }),
)
export type ImportResults = Static<typeof ImportResults>

export const ImportCheck = named(
  'ImportCheck',
  Type.Object({
    results: Type.Array(
      named(
        'ImportCheckResult',
        Type.Object({
          is_valid: Type.Boolean(),
          errors: Type.Unsafe<Record<string, string[]>>({
            type: 'object',
            additionalProperties: { type: 'array', items: { type: 'string' } },
          }),
          is_past_window: Type.Boolean({ description: 'Stored, and too old for the platform.' }),
          is_withheld: Type.Boolean({ description: 'Stored only, because of consent or kind.' }),
          notices: Type.Array(IngestionNotice),
        }),
      ),
      { description: 'One for each event, in their order.' },
    ),
  }),
)
export type ImportCheck = Static<typeof ImportCheck>

export const ImportView = named(
  'Import',
  Type.Object({
    id: Type.String(),
    file_name: Type.String(),
    stored: count('Events that were stored.'),
    duplicates: count('Events that were stored before.'),
    refused: count('Rows that were refused.'),
    blank: count('Rows without any value.'),
    created_at: timestamp('When it was started.'),
    finished_at: nullable(timestamp('When its last row was sent; null while it is not.')),
  }),
)
export type ImportView = Static<typeof ImportView>

export const ImportList = named(
  'ImportList',
  Type.Object({
    imports: Type.Array(ImportView, { description: 'The latest first, at most 50.' }),
  }),
)
export type ImportList = Static<typeof ImportList>
