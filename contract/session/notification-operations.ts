import { MessageError } from '../errors.ts'
import {
  IssuedSigningSecret,
  NotificationState,
  OwnTopics,
  WebhookSubmission,
  WorkspaceTopics,
} from './notifications.ts'
import { ALL_REFUSALS, FOUND_REFUSALS, Nothing, read, write } from './session-operation.ts'

const NOTIFICATIONS = '/workspaces/:workspace/notifications'

/** What the workspace sends, and what this person gets. The path of the webhook is not shown. */
export const getNotifications = read('getNotifications', NOTIFICATIONS, {
  200: NotificationState,
  ...FOUND_REFUSALS,
})
/** What this person gets by email; nobody else is affected. */
export const chooseOwnTopics = write('chooseOwnTopics', `PUT ${NOTIFICATIONS}/mine`, {
  body: OwnTopics,
  response: { 204: Nothing, ...ALL_REFUSALS },
})
/** 409: another email to this person is still being sent. */
export const sendTestEmail = write('sendTestEmail', `POST ${NOTIFICATIONS}/mine/test`, {
  response: { 204: Nothing, ...FOUND_REFUSALS, 409: MessageError },
})
export const changeTopics = write('changeTopics', `PUT ${NOTIFICATIONS}/topics`, {
  body: WorkspaceTopics,
  response: { 204: Nothing, ...ALL_REFUSALS },
})

/** 403: the person has not confirmed their identity recently. */
export const setWebhook = write('setWebhook', `PUT ${NOTIFICATIONS}/webhook`, {
  body: WebhookSubmission,
  response: { 201: IssuedSigningSecret, ...ALL_REFUSALS },
})
export const removeWebhook = write('removeWebhook', `DELETE ${NOTIFICATIONS}/webhook`, {
  response: { 204: Nothing, ...FOUND_REFUSALS, 409: MessageError },
})
/** The signature of the previous secret is sent as well for a day. */
export const rotateWebhookSecret = write(
  'rotateWebhookSecret',
  `POST ${NOTIFICATIONS}/webhook/secret`,
  { response: { 201: IssuedSigningSecret, ...FOUND_REFUSALS, 409: MessageError } },
)
/** Turns a webhook on that was turned off after failures. */
export const enableWebhook = write('enableWebhook', `POST ${NOTIFICATIONS}/webhook/activation`, {
  response: { 204: Nothing, ...FOUND_REFUSALS, 409: MessageError },
})
/** 409: the webhook is off, or a message is still being sent. */
export const sendTestMessage = write('sendTestMessage', `POST ${NOTIFICATIONS}/webhook/test`, {
  response: { 204: Nothing, ...FOUND_REFUSALS, 409: MessageError },
})

export const NOTIFICATION_OPERATIONS = [
  ...[getNotifications, chooseOwnTopics, sendTestEmail, changeTopics],
  ...[setWebhook, removeWebhook, rotateWebhookSecret, enableWebhook, sendTestMessage],
] as const
