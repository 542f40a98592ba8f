import { Stack, Table, Text } from '@mantine/core'
import type { EventOrder, RefundEffect } from '@signalbox/contract/orders.ts'
import type { EventDetails } from '@signalbox/contract/session/events.ts'
import { Facts, Section } from '../components/facts.tsx'
import { formatMoney } from '../components/format-count.ts'
import { PageLink } from '../components/links.tsx'
import { Time } from '../components/time.tsx'

/** What was bought, what was paid back, and what each platform was told. */
export function OrderSection({ workspace, event }: { workspace: string; event: EventDetails }) {
  const { order } = event
  if (!order) return null
  const currency = order.currency ?? ''
  return (
    <Section title="Order">
      <Stack gap="md">
        <Facts
          facts={[
            ['Net value', order.net_value && `${order.net_value} ${currency}`],
            ['Purchase', order.gross_value && `${order.gross_value} ${currency}`],
            ['Refunded', order.refunded_value && `${order.refunded_value} ${currency}`],
            ['Order ID', order.order_id && <span className="code">{order.order_id}</span>],
          ]}
        />
        <Text maw="46rem">{order.explanation}</Text>
        {order.purchase && <Changes workspace={workspace} order={order} />}
        {order.platforms.length > 0 && <Platforms order={order} deliveries={event.deliveries} />}
      </Stack>
    </Section>
  )
}

const EFFECTS: Record<RefundEffect, string> = {
  subtracted: 'subtracted',
  whole: 'refunds everything',
  other_currency: 'not subtracted: another currency',
  no_currency: 'not subtracted: no currency',
  of_page: 'not subtracted: sent by a page',
  no_purchase_value: 'not subtracted: no value of a purchase',
}

function Changes({ workspace, order }: { workspace: string; order: EventOrder }) {
  const purchases = order.purchase ? [{ ...order.purchase, effect: null }] : []
  return (
    <Table verticalSpacing="xs" horizontalSpacing="xs" captionSide="top">
      <Table.Caption ta="left">The purchase and its refunds</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Event</Table.Th>
          <Table.Th ta="right">Value</Table.Th>
          <Table.Th visibleFrom="sm">Effect</Table.Th>
          <Table.Th visibleFrom="sm">Received</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {[...purchases, ...order.refunds].map(own => (
          <Table.Tr key={`${own.effect} ${own.id}`}>
            <Table.Td>
              <PageLink
                to="/w/$workspace/events/$event"
                params={{ workspace, event: own.id }}
                search={own.effect === 'of_page' ? { space: 'publishable' } : {}}
              >
                {own.event_name}
              </PageLink>{' '}
              <span className="code">{own.id}</span>
              <Text size="sm" c="dimmed" hiddenFrom="sm">
                {own.effect === null ? 'the purchase' : EFFECTS[own.effect]}
              </Text>
            </Table.Td>
            <Table.Td ta="right" className="nowrap">
              {formatValue(own.value_amount, own.value_currency)}
            </Table.Td>
            <Table.Td visibleFrom="sm">
              {own.effect === null ? 'the purchase' : EFFECTS[own.effect]}
            </Table.Td>
            <Table.Td visibleFrom="sm">
              <Time at={own.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

interface PlatformsProps {
  order: EventOrder
  /** They name the destinations. */
  deliveries: EventDetails['deliveries']
}

function Platforms({ order, deliveries }: PlatformsProps) {
  const names = new Map(deliveries.map(one => [one.destination_id, one.destination_name]))
  return (
    <Table verticalSpacing="xs" horizontalSpacing="xs" captionSide="top">
      <Table.Caption ta="left">What each platform was told</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Platform</Table.Th>
          <Table.Th ta="right">Value</Table.Th>
          <Table.Th visibleFrom="sm">Explanation</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {order.platforms.map(own => (
          <Table.Tr key={own.destination_id}>
            <Table.Td className="anywhere">
              {names.get(own.destination_id) ?? own.platform}
              <Text size="sm" c="dimmed" hiddenFrom="sm">
                {own.explanation}
              </Text>
            </Table.Td>
            <Table.Td ta="right" className="nowrap">
              {formatValue(own.value_amount, own.value_currency)}
            </Table.Td>
            <Table.Td visibleFrom="sm">{own.explanation}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function formatValue(amount: string | null, currency: string | null): string {
  return amount === null ? 'none' : formatMoney({ amount, currency })
}
