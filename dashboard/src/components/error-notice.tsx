import { Alert, Button, Group, Text } from '@mantine/core'
import { ApiError } from '../api/client.ts'

interface ErrorNoticeProps {
  error: unknown
  /** Offers to try again. */
  onRetry?: (() => void) | undefined
}

/** What went wrong, with the Request-Id that leads to the line in the log. */
export function ErrorNotice({ error, onRetry }: ErrorNoticeProps) {
  const message = error instanceof Error ? error.message : 'Something went wrong.'
  const api = error instanceof ApiError ? error : null
  return (
    <Alert role="alert" color="red" variant="light" title={message}>
      {Object.entries(api?.errors ?? {}).map(([field, sentences]) => (
        <Text key={field} size="sm">
          <span className="code">{field}</span>: {sentences.join(' ')}
        </Text>
      ))}
      <Group gap="sm" mt="xs">
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
        {api?.requestId && (
          <Text size="xs">
            Request-Id <span className="code">{api.requestId}</span>
          </Text>
        )}
      </Group>
    </Alert>
  )
}
