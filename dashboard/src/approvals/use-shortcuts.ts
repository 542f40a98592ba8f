import { useLocalStorage } from '@mantine/hooks'
import { useEffect } from 'react'

/** The elements between which j and k move. */
const ITEM = '[data-shortcut-item]'
/** Where letters are text. */
const FIELDS = 'input, textarea, select, [contenteditable], [role="dialog"]'

/** Whether letters are shortcuts in this browser; kept there. */
export function useShortcutSetting() {
  return useLocalStorage({ key: 'signalbox-shortcuts', defaultValue: 'on' })
}

/**
 * j and k move to the next and the previous proposal or change, a and r press Approve and Reject,
 * or open the proposal that has the focus in the list.
 */
export function useShortcuts(): void {
  const [setting] = useShortcutSetting()
  useEffect(() => {
    if (setting !== 'on') return
    const onKey = (event: KeyboardEvent) => {
      const { target, key } = event
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey
      if (hasModifier || event.defaultPrevented || !(target instanceof Element)) return
      if (target.closest(FIELDS) !== null || document.querySelector('[role="dialog"]')) return
      if (press(key)) event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [setting])
}

function press(key: string): boolean {
  switch (key) {
    case 'j':
      return move(1)
    case 'k':
      return move(-1)
    case 'a':
      return click('approve')
    case 'r':
      return click('reject')
    default:
      return false
  }
}

function move(step: number): boolean {
  const items = [...document.querySelectorAll<HTMLElement>(ITEM)]
  const here = items.findIndex(item => item.contains(document.activeElement))
  const next = here === -1 ? 0 : Math.min(Math.max(here + step, 0), items.length - 1)
  const item = items[next]
  const target = item?.querySelector<HTMLElement>('[data-shortcut-target]') ?? item
  target?.focus()
  return target !== undefined
}

function click(decision: string): boolean {
  const item = document.activeElement?.closest(ITEM)
  const link = item?.querySelector<HTMLElement>('a[data-shortcut-target]')
  const button = document.querySelector<HTMLButtonElement>(`[data-decision="${decision}"]`)
  const target = link ?? button
  target?.click()
  return target !== null
}
