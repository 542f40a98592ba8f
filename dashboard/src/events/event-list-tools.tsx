import { Anchor, Button, Checkbox, Group, Text, TextInput } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useState } from 'react'
import { pathOf } from '../api/client.ts'
import { PageLink } from '../components/links.tsx'
import { useTrackerParams } from '../layout/scope.ts'
import { type EventFilters, readEventListSearch } from './event-filters.ts'
import { toQuery } from './event-queries.ts'

/** Columns that a person may add or leave out; the event and its status are always there. */
export const EVENT_COLUMNS = {
  order: 'Order',
  parent: 'Parent',
  value: 'Value',
  space: 'Sent by',
  happened: 'Happened',
  received: 'Received',
} as const
export type EventColumn = keyof typeof EVENT_COLUMNS
const COLUMN_NAMES = Object.keys(EVENT_COLUMNS) as EventColumn[]
const COLUMNS_DEFAULT: EventColumn[] = ['order', 'value', 'received']

/** The chosen columns, kept in the browser. */
export function useEventColumns() {
  const [stored, setColumns] = useLocalStorage<EventColumn[]>({
    key: 'signalbox-event-columns',
    defaultValue: COLUMNS_DEFAULT,
  })
  const known = Array.isArray(stored) ? stored : COLUMNS_DEFAULT
  return [COLUMN_NAMES.filter(name => known.includes(name)), setColumns] as const
}

/** Above the table: columns, views and the file of what is shown. */
export function EventListTools({ filters }: { filters: EventFilters }) {
  const params = useTrackerParams()
  const [columns, setColumns] = useEventColumns()
  const fileOf = (format: 'csv' | 'ndjson') =>
    pathOf('GET /workspaces/:workspace/trackers/:tracker/exports/events', {
      params,
      query: { ...toQuery(filters), format },
    })
  return (
    <Group gap="xs" className="event-tools">
      <details className="menu">
        <summary>Columns</summary>
        <div className="menu-panel">
          {COLUMN_NAMES.map(name => (
            <Checkbox
              key={name}
              size="xs"
              label={EVENT_COLUMNS[name]}
              checked={columns.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                setColumns(checked ? [...columns, name] : columns.filter(each => each !== name))
              }
            />
          ))}
        </div>
      </details>
      <SavedViews filters={filters} />
      <details className="menu">
        <summary>Export</summary>
        <div className="menu-panel">
          <Text size="xs" c="dimmed">
            The newest 10,000 events that these filters find.
          </Text>
          <Anchor href={fileOf('csv')} download size="sm">
            CSV, a row for each delivery
          </Anchor>
          <Anchor href={fileOf('ndjson')} download size="sm">
            NDJSON, a line for each event
          </Anchor>
        </div>
      </details>
    </Group>
  )
}

interface SavedView {
  name: string
  search: EventFilters
}

const VIEWS_MAX = 30

function SavedViews({ filters }: { filters: EventFilters }) {
  const { workspace, tracker } = useTrackerParams()
  const [stored, setViews] = useLocalStorage<SavedView[]>({
    key: `signalbox-event-views-${tracker}`,
    defaultValue: [],
  })
  const [name, setName] = useState('')
  const views = Array.isArray(stored) ? stored : []
  const others = views.filter(view => view.name !== name.trim())
  const canSave = name.trim() !== '' && Object.keys(filters).length > 0 && others.length < VIEWS_MAX
  return (
    <details className="menu">
      <summary>Views</summary>
      <div className="menu-panel">
        {views.map(view => (
          <Group key={view.name} justify="space-between" gap="xs" wrap="nowrap">
            <PageLink
              to="/w/$workspace/events"
              params={{ workspace }}
              search={readEventListSearch(view.search)}
              size="sm"
              className="anywhere"
            >
              {view.name}
            </PageLink>
            <Button
              size="compact-xs"
              variant="subtle"
              aria-label={`Delete the view ${view.name}`}
              onClick={() => setViews(views.filter(each => each.name !== view.name))}
            >
              Delete
            </Button>
          </Group>
        ))}
        <form
          onSubmit={event => {
            event.preventDefault()
            if (!canSave) return
            setViews([...others, { name: name.trim(), search: filters }])
            setName('')
          }}
        >
          <Group gap="xs" wrap="nowrap">
            <TextInput
              aria-label="Name of the view"
              placeholder="Name of this view"
              size="xs"
              maxLength={60}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <Button type="submit" size="xs" variant="default" disabled={!canSave}>
              Save
            </Button>
          </Group>
        </form>
        <Text size="xs" c="dimmed">
          Views are kept in this browser: they are the filters of the list, for you alone.
        </Text>
      </div>
    </details>
  )
}
