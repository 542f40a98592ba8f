import type { ActionStatus } from './agents/actions.ts'

/** Long-running problems of a destination that a report found. The list may grow. */
export const ALERT_KINDS = ['emq_fell', 'emq_low', 'reconciliation_unexplained'] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

/** Problems of a workspace as a whole. The list may grow. */
export const WORKSPACE_ALERT_KINDS = ['audit_log_broken', 'page_withdrawals_many'] as const
export type WorkspaceAlertKind = (typeof WORKSPACE_ALERT_KINDS)[number]

/** What people are told about a destination: its alerts, and that nothing reaches it. */
export const PROBLEM_KINDS = [
  ...ALERT_KINDS,
  'destination_inactive',
  'destination_unreachable',
] as const
export type ProblemKind = (typeof PROBLEM_KINDS)[number]

export type AlertTransition = 'raised' | 'resolved'

/** The `type` of a notification in webhooks: a noun and a past participle. */
export type NotificationType =
  | 'approval.requested'
  | `action.${ActionStatus}`
  | `alert.${ProblemKind | WorkspaceAlertKind}.${AlertTransition}`
  | 'policy.loosening_pending'
  | 'policy.loosened'
  | 'policy.loosening_canceled'
  | 'webhook.disabled'
  | 'webhook.test'
  | 'email.test'
