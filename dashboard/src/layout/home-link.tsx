import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'

/** The mark and the name; leads to the list of a person's workspaces. */
export function HomeLink() {
  return (
    <Anchor
      component={Link}
      to="/workspaces"
      fw={650}
      c="var(--color-text)"
      underline="never"
      className="home"
    >
      <Mark />
      Signalbox
    </Anchor>
  )
}

/** `design/mark.svg` in the colors of the scheme. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--color-action)" />
      <circle cx="16" cy="10" r="4.5" fill="var(--color-action-text)" />
      <circle
        cx="16"
        cy="22"
        r="3.5"
        fill="none"
        stroke="var(--color-action-text)"
        strokeWidth="2"
      />
    </svg>
  )
}
