import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentProps, Ref } from 'react'

type NativeAnchor = Omit<ComponentProps<'a'>, 'color' | keyof AnchorProps>

function MantineAnchor({
  ref,
  ...props
}: AnchorProps & NativeAnchor & { ref?: Ref<HTMLAnchorElement> }) {
  return <Anchor ref={ref} {...props} />
}

/** A link to a page of the dashboard. Pages of the server are plain anchors. */
export const PageLink = createLink(MantineAnchor)

type ButtonAnchor = Omit<ComponentProps<'a'>, 'color' | keyof ButtonProps>

function MantineButton({
  ref,
  ...props
}: ButtonProps & ButtonAnchor & { ref?: Ref<HTMLAnchorElement> }) {
  return <Button component="a" ref={ref} {...props} />
}

/** A link to a page of the dashboard that looks like a button. */
export const PageButton = createLink(MantineButton)
