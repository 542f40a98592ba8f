import '@mantine/spotlight/styles.css'
import { createSpotlight, Spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { NAVIGATION, navigationPath } from '@signalbox/design/navigation.ts'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useWorkspace } from './scope.ts'

const [store, palette] = createSpotlight()

/** Opens a page by its name. Ctrl K or ⌘ K anywhere. */
// biome-ignore lint/style/noDefaultExport: React.lazy takes the default export
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const { id, role } = useWorkspace()
  const navigate = useNavigate()
  useEffect(palette.open, [])
  const actions = NAVIGATION.filter(({ roles }) => roles === undefined || roles.includes(role)).map(
    (entry): SpotlightActionData => {
      const path = navigationPath(entry, id)
      const open = () => {
        if (entry.kind === 'server') location.assign(path)
        else void navigate({ to: path })
      }
      return { id: path, label: entry.label, onClick: open }
    },
  )
  return (
    <Spotlight
      store={store}
      actions={actions}
      shortcut={null}
      onSpotlightClose={onClose}
      nothingFound="Nothing found"
      searchProps={{ placeholder: 'Open a page…', 'aria-label': 'Open a page' }}
    />
  )
}
