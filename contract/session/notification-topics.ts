/** Topics that a workspace can mute for each channel. The list may grow. */
export const NOTIFICATION_TOPICS = [
  'approvals',
  'results',
  'destinations',
  'match_quality',
  'reconciliation',
  'page_withdrawals',
  'audit_log',
] as const
export type ChosenTopic = (typeof NOTIFICATION_TOPICS)[number]

export const TOPIC_LABELS: Record<ChosenTopic, string> = {
  approvals: 'Proposals that wait for approval',
  results: 'Results of proposals',
  destinations: 'Alerts: a destination is inactive or cannot be reached',
  match_quality: 'Alerts: match quality',
  reconciliation: 'Alerts: reconciliation',
  page_withdrawals: 'Alerts: many withdrawals of consent by pages',
  audit_log: 'Alerts: the audit log was changed',
}

/** A workspace gets at most one message in this time. */
export const DIGEST_MINUTES = [5, 15, 60, 1_440] as const
export type DigestMinutes = (typeof DIGEST_MINUTES)[number]

/**
 * `standard`: the event of Standard Webhooks. `text`: `{text}` alone, which Slack, Mattermost and
 * Google Chat show in a channel.
 */
export const WEBHOOK_FORMATS = ['standard', 'text'] as const
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]
