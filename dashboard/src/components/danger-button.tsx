import { Button, type ButtonProps } from '@mantine/core'
import type { ComponentProps } from 'react'

type NativeButton = Omit<ComponentProps<'button'>, 'color' | keyof ButtonProps>

/** A button for what cannot be undone, in the colors of the tokens, which have enough contrast. */
export function DangerButton(props: ButtonProps & NativeButton) {
  return <Button {...props} classNames={{ root: 'danger' }} />
}
