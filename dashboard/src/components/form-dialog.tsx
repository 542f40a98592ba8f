import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { ConfirmableError } from './confirm-identity.tsx'
import { DangerButton } from './danger-button.tsx'

interface FormDialogProps {
  title: string
  submitLabel: string
  /** It cannot be undone. */
  isFinal?: boolean
  canSubmit?: boolean
  /** The width; by default, that of a short question. */
  size?: 'lg'
  isPending: boolean
  /** Null when there is none, or when the fields show it. */
  error: unknown
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

/** Asks before something is done; its last line has the buttons. */
export function FormDialog({ title, submitLabel, isPending, error, ...props }: FormDialogProps) {
  const { isFinal = false, canSubmit = true, size = 'md', onSubmit, onClose, children } = props
  const Submit = isFinal ? DangerButton : Button
  return (
    <Modal {...DIALOG} opened size={size} onClose={onClose} title={title}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (canSubmit) onSubmit()
        }}
      >
        <Stack gap="md">
          {children}
          {error !== null && <ConfirmableError error={error} />}
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Submit type="submit" disabled={!canSubmit} loading={isPending}>
              {submitLabel}
            </Submit>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface ResultDialogProps {
  title: string
  onClose: () => void
  children: ReactNode
}

/** Says what was done. */
export function ResultDialog({ title, onClose, children }: ResultDialogProps) {
  return (
    <Modal {...DIALOG} opened onClose={onClose} title={title}>
      <Stack gap="md">
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** What all dialogs have; the button that closes one needs a name. */
export const DIALOG = { centered: true, closeButtonProps: { 'aria-label': 'Close' } }
