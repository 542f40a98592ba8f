import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentProps, ReactNode, Ref } from 'react'

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

interface WorkspaceLinkProps extends AnchorProps {
  workspace: string
  /** Below the workspace, for example `events/order-1001`. */
  path: string
  search?: Readonly<Record<string, string>>
  children: ReactNode
}

/** A link to a page that is known by its path, such as one that a table of texts names. */
export function WorkspaceLink({ workspace, path, search = {}, ...props }: WorkspaceLinkProps) {
  const to: string = `/w/${workspace}/${path}`
  return <PageLink to={to} search={search as never} {...props} />
}
