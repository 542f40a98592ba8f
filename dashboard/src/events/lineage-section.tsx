import { List, Text } from '@mantine/core'
import type { EventDetails, RelatedEvent } from '@signalbox/contract/session/events.ts'
import { Section } from '../components/facts.tsx'
import { PageLink } from '../components/links.tsx'
import { Time } from '../components/time.tsx'

interface LineageSectionProps {
  workspace: string
  event: EventDetails
}

/** The event that this one belongs to, and the events that belong to this one. */
export function LineageSection({ workspace, event }: LineageSectionProps) {
  const { parent, parent_event_id: parentId, children } = event
  if (parentId === null && children.length === 0) return null
  return (
    <Section title="Lineage">
      <List spacing="xs">
        {parent && (
          <List.Item>
            Parent: <EventLink workspace={workspace} event={parent} />
          </List.Item>
        )}
        {parentId !== null && !parent && (
          <List.Item>
            Parent: <span className="code">{parentId}</span>, which is not stored
          </List.Item>
        )}
        {children.map(child => (
          <List.Item key={`${child.space} ${child.id}`}>
            Child: <EventLink workspace={workspace} event={child} />
          </List.Item>
        ))}
      </List>
      {children.length > 0 && (
        <Text size="sm" mt="sm">
          <PageLink to="/w/$workspace/events" params={{ workspace }} search={{ parent: event.id }}>
            List the children
          </PageLink>
        </Text>
      )}
    </Section>
  )
}

function EventLink({ workspace, event }: { workspace: string; event: RelatedEvent }) {
  return (
    <>
      <PageLink
        to="/w/$workspace/events/$event"
        params={{ workspace, event: event.id }}
        search={event.space === 'publishable' ? { space: 'publishable' } : {}}
      >
        {event.event_name}
      </PageLink>{' '}
      <span className="code">{event.id}</span>, received <Time at={event.created_at} />
    </>
  )
}
