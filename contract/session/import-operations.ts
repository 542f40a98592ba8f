import {
  EventsToCheck,
  ImportCheck,
  ImportedEvents,
  ImportList,
  ImportResults,
  ImportSubmission,
  ImportView,
} from './imports.ts'
import { ALL_REFUSALS, FOUND_REFUSALS, read, write } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

const IMPORTS = `${TRACKER_PATH}/imports` as const

export const listImports = read('listImports', IMPORTS, { 200: ImportList, ...FOUND_REFUSALS })

/** A dry run: by the rules of createEvent, and nothing is stored. */
export const checkImport = write('checkImport', `POST ${IMPORTS}/check`, {
  body: EventsToCheck,
  response: { 200: ImportCheck, ...ALL_REFUSALS },
})
export const startImport = write('startImport', `POST ${IMPORTS}`, {
  body: ImportSubmission,
  response: { 201: ImportView, ...ALL_REFUSALS },
})

/** Stores events as a back end would send them, and counts the outcomes. */
export const importEvents = write('importEvents', `POST ${IMPORTS}/:import/events`, {
  body: ImportedEvents,
  response: { 200: ImportResults, ...ALL_REFUSALS },
})

export const IMPORT_OPERATIONS = [listImports, checkImport, startImport, importEvents] as const
