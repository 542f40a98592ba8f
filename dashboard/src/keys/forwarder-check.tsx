import { Alert, Stack, Text } from '@mantine/core'
import type { ForwarderCheck as Check } from '@signalbox/contract/session/keys.ts'
import { useQuery } from '@tanstack/react-query'
import { CopyBlock } from '../components/copy.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Time } from '../components/time.tsx'
import { forwarderCheckQuery, type TrackerParams } from './key-api.ts'

const TITLES: Record<Check['status'], { title: string; color: string }> = {
  no_secret: { title: 'No forwarding secret is live: issue one first', color: 'yellow' },
  waiting: { title: 'Waiting for the first signed request', color: 'gray' },
  valid: { title: 'The last signature was valid', color: 'brand' },
  refused: { title: 'The last signature was refused', color: 'red' },
}

/** Whether signed requests of the shop's forwarder arrive, refreshed while the page is open. */
export function ForwarderCheck({ params, path }: { params: TrackerParams; path: string }) {
  const { data, error } = useQuery(forwarderCheckQuery(params, path))
  if (error) return <ErrorNotice error={error} />
  if (!data) return null
  const { title, color } = TITLES[data.status]
  return (
    <Stack gap="sm">
      <Alert color={color} variant="light" title={title} aria-live="polite">
        <Stack gap={4}>
          {data.last_valid_at && (
            <Text size="sm">
              Valid: <Time at={data.last_valid_at} />
              {data.last_valid_key && (
                <>
                  {' '}
                  with the secret <span className="code">…{data.last_valid_key}</span>
                </>
              )}
            </Text>
          )}
          {data.last_refused && (
            <Text size="sm">
              Refused: <Time at={data.last_refused.at} />, {data.last_refused.requests} in the last
              24 hours, the last one with Request-Id{' '}
              <span className="code">{data.last_refused.request_id}</span>.{' '}
              {data.last_refused.advice}
            </Text>
          )}
          {data.status === 'waiting' && (
            <Text size="sm">
              Open a page of your shop, or run the command below with your host and publishable key.
              nginx does not sign, so its requests do not show here.
            </Text>
          )}
        </Stack>
      </Alert>
      <CopyBlock text={data.test_command} label="Copy the command" />
    </Stack>
  )
}
