import { BROWSER_ACTION_OPERATIONS } from './action-operations.ts'
import { BROWSER_AGENT_OPERATIONS } from './agent-operations.ts'
import { DESTINATION_OPERATIONS } from './destination-operations.ts'
import { EVENT_OPERATIONS } from './event-operations.ts'
import { IMPORT_OPERATIONS } from './import-operations.ts'
import { ISSUE_OPERATIONS } from './issue-operations.ts'
import { KEY_OPERATIONS } from './key-operations.ts'
import { LIVE_OPERATIONS } from './live-operations.ts'
import { NOTIFICATION_OPERATIONS } from './notification-operations.ts'
import { PRIVACY_OPERATIONS } from './privacy-operations.ts'
import { REPORT_OPERATIONS } from './report-operations.ts'
import { START_OPERATIONS } from './start-operations.ts'
import { TRACKER_OPERATIONS } from './tracker-operations.ts'
import { PEOPLE_OPERATIONS } from './user-operations.ts'

/** Every operation of the dashboard's API: the app calls them, and tests hold each to its rules. */
export const SESSION_OPERATIONS = [
  ...BROWSER_ACTION_OPERATIONS,
  ...BROWSER_AGENT_OPERATIONS,
  ...DESTINATION_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...IMPORT_OPERATIONS,
  ...ISSUE_OPERATIONS,
  ...KEY_OPERATIONS,
  ...LIVE_OPERATIONS,
  ...NOTIFICATION_OPERATIONS,
  ...PRIVACY_OPERATIONS,
  ...REPORT_OPERATIONS,
  ...START_OPERATIONS,
  ...TRACKER_OPERATIONS,
  ...PEOPLE_OPERATIONS,
] as const
