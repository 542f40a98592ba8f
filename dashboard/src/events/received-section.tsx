import { List, Stack, Text } from '@mantine/core'
import type { EventDetails } from '@signalbox/contract/session/events.ts'
import { Facts, Section } from '../components/facts.tsx'
import { formatMoney } from '../components/format-count.ts'
import { Time } from '../components/time.tsx'

const IDENTITY_STATES: Record<EventDetails['identity']['state'], string> = {
  stored: 'Stored. Values are digests or stay on the server, and are never shown.',
  expired: 'Deleted when its time was over.',
  erased: 'Erased on request of the person.',
  not_stored: 'None: events of this kind keep no identity.',
}

/** The names of what identifies the person. */
export function IdentitySection({ identity }: Pick<EventDetails, 'identity'>) {
  const { keys, click_ids, session_click_ids, has_visitor_id } = identity
  return (
    <Section title="Identity">
      <Stack gap="md">
        <Text maw="46rem">{IDENTITY_STATES[identity.state]}</Text>
        {identity.state === 'stored' && (
          <Facts
            facts={[
              ['Keys', <Names names={keys} />],
              ['Click IDs of the event', <Names names={click_ids} />],
              ["Click IDs of the visitor's session", <Names names={session_click_ids} />],
              ['Visitor ID', has_visitor_id ? 'present' : 'absent'],
            ]}
          />
        )}
      </Stack>
    </Section>
  )
}

function Names({ names }: { names: readonly string[] }) {
  return names.length === 0 ? 'none' : <span className="code">{names.join(', ')}</span>
}

/** What was dropped, ignored or replaced on receipt. */
export function NotesSection({ notes }: Pick<EventDetails, 'notes'>) {
  const { dropped, ignored, redacted, differing_submissions, last_differing_at } = notes
  const hasNotes = dropped.length + ignored.length + redacted.length + differing_submissions > 0
  if (!hasNotes) return null
  return (
    <Section title="Changed on receipt">
      <List spacing="xs">
        {dropped.map(({ field, reason }) => (
          <List.Item key={`${field} ${reason}`}>
            Dropped <span className="code">{field}</span>: {reason}
          </List.Item>
        ))}
        {ignored.map(name => (
          <List.Item key={name}>
            Ignored the unknown member <span className="code">{name}</span>
          </List.Item>
        ))}
        {redacted.map(field => (
          <List.Item key={field}>
            Replaced an identifier by a token in <span className="code">{field}</span>
          </List.Item>
        ))}
        {differing_submissions > 0 && (
          <List.Item>
            The same ID came again with a different body, {differing_submissions} time
            {differing_submissions === 1 ? '' : 's'}
            {last_differing_at && (
              <>
                , last <Time at={last_differing_at} />
              </>
            )}
            . The first body is kept.
          </List.Item>
        )}
      </List>
    </Section>
  )
}

/** What the event says, and how it is classified. */
export function EventSection({ event }: { event: EventDetails }) {
  const { value_amount, value_currency, value_data } = event
  return (
    <Section title="Event">
      <Stack gap="md">
        <Facts
          facts={[
            ['Happened', <Time at={event.event_time} />],
            ['Received', <Time at={event.created_at} />],
            [
              'Value',
              value_amount && formatMoney({ amount: value_amount, currency: value_currency }),
            ],
            ['Order', event.order_id && <span className="code">{event.order_id}</span>],
            ['Page', event.event_source && <span className="code">{event.event_source}</span>],
            ['Action source', event.action_source],
            ['Sent with', SENDERS[event.space ?? 'earlier']],
            ['Event class', event.event_class],
            ['Measurement class', event.measurement_class],
            ['Attribution join', event.attribution_join],
            ['Enforcement scope', event.enforcement_scope],
          ]}
        />
        {value_data && (
          <details>
            <summary>Commerce data as it was sent</summary>
            <pre className="code answer">{JSON.stringify(value_data, null, 2)}</pre>
          </details>
        )}
      </Stack>
    </Section>
  )
}

const SENDERS = {
  secret: 'a secret',
  publishable: 'a publishable key, which anyone can copy from a page',
  earlier: 'a key that was not recorded yet',
}
