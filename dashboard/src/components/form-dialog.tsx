import { Alert, Button, Group, Modal, Stack } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import { ConfirmableError, IdentityFirst } from './confirm-identity.tsx'
import { CopyBlock } from './copy.tsx'
import { DangerButton } from './danger-button.tsx'

interface FormDialogProps {
  title: string
  submitLabel: string
  /** It cannot be undone. */
  isFinal?: boolean
  canSubmit?: boolean
  /** It needs a confirmed identity, which is asked for before the form is shown. */
  isSensitive?: boolean
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
  const { isFinal = false, isSensitive = false, canSubmit = true, size = 'md', ...rest } = props
  const { onSubmit, onClose, children } = rest
  const Submit = isFinal ? DangerButton : Button
  const Gate = isSensitive ? IdentityFirst : Fragment
  return (
    <Modal {...DIALOG} opened size={size} onClose={onClose} title={title}>
      <Gate>
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
      </Gate>
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

interface SecretDialogProps {
  title: string
  secret: string
  /** For example "Copy the token". */
  copyLabel: string
  onClose: () => void
  /** What to do with it. */
  children?: ReactNode
}

/** The only moment at which a secret is shown: nothing closes it by accident. */
export function SecretDialog({ title, secret, copyLabel, ...props }: SecretDialogProps) {
  const { onClose, children } = props
  return (
    <Modal
      {...DIALOG}
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack gap="md">
        <Alert color="yellow" variant="light" title="Copy it now: it is shown only once." />
        <CopyBlock text={secret} label={copyLabel} />
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            I have copied it
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** What all dialogs have; the button that closes one needs a name. */
export const DIALOG = { centered: true, closeButtonProps: { 'aria-label': 'Close' } }
