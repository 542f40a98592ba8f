import type {
  ChosenTopic,
  DigestMinutes,
  WebhookFormat,
} from '@signalbox/contract/session/notification-topics.ts'
import type { NotificationState } from '@signalbox/contract/session/notifications.ts'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useWorkspace } from '../layout/scope.ts'

const NOTIFICATIONS = '/workspaces/:workspace/notifications'

export type WebhookState = NonNullable<NotificationState['webhook']>

const notificationsKey = (workspace: string) => ['notifications', workspace]

/** The result of a message appears by itself. */
const REFRESH_MILLISECONDS = 10_000

export const notificationsQuery = (workspace: string) =>
  queryOptions({
    queryKey: notificationsKey(workspace),
    queryFn: ({ signal }) => call(`GET ${NOTIFICATIONS}`, { params: { workspace }, signal }),
    refetchInterval: REFRESH_MILLISECONDS,
  })

/** Runs a change of notifications and reads them again. */
export function useNotificationChange<Input, Answer>(
  change: (params: { workspace: string }, input: Input) => Promise<Answer>,
  onDone?: () => void,
) {
  const { id: workspace } = useWorkspace()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => change({ workspace }, input),
    ...(onDone && { onSuccess: onDone }),
    onSettled: () => client.invalidateQueries({ queryKey: notificationsKey(workspace) }),
  })
}

type Params = { workspace: string }

export const chooseOwnTopics = (params: Params, topics: ChosenTopic[]) =>
  call(`PUT ${NOTIFICATIONS}/mine`, { params, body: { topics } })

export const sendTestEmail = (params: Params) => call(`POST ${NOTIFICATIONS}/mine/test`, { params })

export interface SentTopics {
  email_topics: ChosenTopic[]
  webhook_topics: ChosenTopic[]
  digest_minutes: DigestMinutes
}

export const changeTopics = (params: Params, body: SentTopics) =>
  call(`PUT ${NOTIFICATIONS}/topics`, { params, body })

export const setWebhook = (params: Params, body: { url: string; format: WebhookFormat }) =>
  call(`PUT ${NOTIFICATIONS}/webhook`, { params, body })

export const rotateSecret = (params: Params) =>
  call(`POST ${NOTIFICATIONS}/webhook/secret`, { params })

export const enableWebhook = (params: Params) =>
  call(`POST ${NOTIFICATIONS}/webhook/activation`, { params })

export const removeWebhook = (params: Params) => call(`DELETE ${NOTIFICATIONS}/webhook`, { params })

export const sendTestMessage = (params: Params) =>
  call(`POST ${NOTIFICATIONS}/webhook/test`, { params })
