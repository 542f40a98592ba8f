import { Badge, type MantineColor } from '@mantine/core'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'

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
}

/** The status of a delivery, in the words of the documentation. */
export function StatusBadge({ status, isTest = false }: StatusBadgeProps) {
  return (
    <Badge
      variant="light"
      color={COLORS[status]}
      tt="none"
      fw={600}
      size="md"
      radius="sm"
      className="status"
    >
      {isTest ? `test, ${status}` : status}
    </Badge>
  )
}
