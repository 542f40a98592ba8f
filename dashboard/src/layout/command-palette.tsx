import '@mantine/spotlight/styles.css'
import { createSpotlight, Spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { NAVIGATION, navigationPath } from './navigation.ts'
import { useWorkspace } from './scope.ts'

const [store, palette] = createSpotlight()

/** Opens a page by its name, or an event by its ID. Ctrl K or ⌘ K anywhere. */
// biome-ignore lint/style/noDefaultExport: React.lazy takes the default export
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const { id, role } = useWorkspace()
  const navigate = useNavigate()
  const [query, setQuery] = useState('')
  useEffect(palette.open, [])
  const pages = NAVIGATION.filter(({ roles }) => roles === undefined || roles.includes(role)).map(
    (entry): SpotlightActionData => {
      const path = navigationPath(entry, id)
      const open = () => {
        if (entry.kind === 'server') location.assign(path)
        else void navigate({ to: path })
      }
      return { id: path, label: entry.label, onClick: open }
    },
  )
  const event = query.trim()
  const openEvent: SpotlightActionData = {
    id: 'event',
    label: `Open the event ${event}`,
    onClick: () =>
      void navigate({ to: '/w/$workspace/events/$event', params: { workspace: id, event } }),
  }
  return (
    <Spotlight
      store={store}
      query={query}
      onQueryChange={setQuery}
      actions={event === '' ? pages : [...pages, openEvent]}
      shortcut={null}
      onSpotlightClose={onClose}
      attributes={{ content: { 'aria-label': 'Search' } }}
      nothingFound="Nothing found"
      searchProps={{
        placeholder: 'Open a page, or an event by its ID…',
        'aria-label': 'Open a page or an event',
      }}
    />
  )
}
