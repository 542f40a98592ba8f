import { Button } from '@mantine/core'
import { type ToggleEvent, useId, useRef } from 'react'

export interface RowAction {
  label: string
  /** It takes something away. */
  isDangerous?: boolean
  onClick: () => void
}

interface RowMenuProps {
  /** What the row is about, for screen readers. */
  about: string
  actions: readonly RowAction[]
}

const GAP_PIXELS = 4

/**
 * What a person can do with one row of a table; nothing at all without an action. A popover of the
 * browser: Escape and a click elsewhere close it, and Tab leads into it.
 */
export function RowMenu({ about, actions }: RowMenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  if (actions.length === 0) return null
  const onToggle = ({ newState }: ToggleEvent<HTMLDivElement>) => {
    if (newState !== 'open' || !button.current || !list.current) return
    place(list.current, button.current.getBoundingClientRect())
    const close = () => list.current?.hidePopover()
    addEventListener('scroll', close, { capture: true, once: true })
  }
  return (
    <>
      <Button
        ref={button}
        size="compact-sm"
        variant="default"
        aria-label={`Actions for ${about}`}
        popoverTarget={id}
      >
        ⋯
      </Button>
      <div ref={list} id={id} popover="auto" className="row-menu" onToggle={onToggle}>
        {actions.map(({ label, isDangerous, onClick }) => (
          <button
            key={label}
            type="button"
            className={isDangerous ? 'dangerous' : undefined}
            onClick={() => {
              list.current?.hidePopover()
              onClick()
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </>
  )
}

/** Below the button, or above it where there is no room. */
function place(list: HTMLElement, button: DOMRect): void {
  const { offsetHeight: height } = list
  const isBelow = button.bottom + GAP_PIXELS + height <= innerHeight
  const top = isBelow ? button.bottom + GAP_PIXELS : button.top - GAP_PIXELS - height
  list.style.top = `${Math.max(GAP_PIXELS, top)}px`
  list.style.right = `${document.documentElement.clientWidth - button.right}px`
}
