import { Button, Kbd, Text } from '@mantine/core'
import { useShortcutSetting, useShortcuts } from './use-shortcuts.ts'

/** Turns the shortcuts of this page on, and says what they are. Keyboards only. */
export function ShortcutHint({ acts }: { acts: string }) {
  useShortcuts()
  const [setting, setSetting] = useShortcutSetting()
  const isOn = setting === 'on'
  return (
    <Text size="sm" c="dimmed" className="shortcut-hint" component="div">
      {isOn && (
        <>
          <Kbd size="xs">j</Kbd> <Kbd size="xs">k</Kbd> next, previous, <Kbd size="xs">a</Kbd>{' '}
          <Kbd size="xs">r</Kbd> {acts}.{' '}
        </>
      )}
      <Button variant="subtle" size="compact-xs" onClick={() => setSetting(isOn ? 'off' : 'on')}>
        {isOn ? 'Turn off shortcuts' : 'Turn on keyboard shortcuts'}
      </Button>
    </Text>
  )
}
