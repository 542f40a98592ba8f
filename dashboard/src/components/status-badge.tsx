import { Badge, type MantineColor } from '@mantine/core'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { ReactNode } from 'react'

const COLORS: Record<DeliveryStatus, MantineColor> = {
  queued: 'yellow',
  sent: 'yellow',
  retrying: 'yellow',
  accepted: 'brand',
  'failed:auth': 'red',
  'failed:permanent': 'red',
  'failed:unknown': 'red',
  expired: 'gray',
  'skipped:consent': 'gray',
  'skipped:no_destination': 'gray',
  'skipped:duplicate': 'gray',
  'skipped:not_selected': 'gray',
}

interface StatusBadgeProps {
  status: DeliveryStatus
  isTest?: boolean
  /** Before the status, for example how many deliveries have it. */
  children?: ReactNode
}

/** The status of a delivery, in the words of the documentation. */
export function StatusBadge({ status, isTest = false, children }: StatusBadgeProps) {
  return (
    <Tag color={COLORS[status]}>
      {children}
      {isTest ? `test, ${status}` : status}
    </Tag>
  )
}

interface TagProps {
  /** By default the color of what is well. */
  color?: MantineColor
  children: ReactNode
}

/** One or two words about a row, as they are written, never in capitals. */
export function Tag({ color = 'brand', children }: TagProps) {
  return (
    <Badge variant="light" color={color} tt="none" fw={600} size="md" radius="sm">
      {children}
    </Badge>
  )
}
