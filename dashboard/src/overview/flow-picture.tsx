import { useElementSize } from '@mantine/hooks'
import type { EventFlow } from '@signalbox/contract/session/overview.ts'
import { useNavigate, useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'
import { formatCount, formatNumber } from '../components/format-count.ts'
import type { EventFilters } from '../events/event-filters.ts'
import { type FlowLink, type FlowNode, layOutFlow, NODE_WIDTH } from './flow-layout.ts'
import {
  bandFilters,
  type FlowChoice,
  type FlowRow,
  formatPart,
  OTHER_NAMES,
  OUTCOME_TITLES,
  OUTCOMES,
  type Outcome,
} from './flow-model.ts'

interface FlowPictureProps {
  workspace: string
  flow: EventFlow
  /** Of the chosen destination, or of all. */
  rows: readonly FlowRow[]
  choice: FlowChoice
  /** What a destination is called. */
  nameOf: (destinationId: string | null) => string
}

/** Below this width the text of five columns does not fit. */
const WIDE_MIN = 700
const GROUPS_MAX = 6

/** The flow as bands. The table below it says the same for those who do not see it. */
export function FlowPicture(props: FlowPictureProps) {
  const { ref, width } = useElementSize()
  return (
    <div ref={ref} className="flow-picture">
      {width > 0 && <Bands {...props} width={width} />}
    </div>
  )
}

function Bands({ width, ...props }: FlowPictureProps & { width: number }) {
  const isWide = width >= WIDE_MIN
  const { nodes, links, addresses } = toGraph(props, isWide)
  const textWidth = isWide ? 130 : 92
  const layout = layOutFlow(nodes, links, { width, textWidth })
  return (
    // biome-ignore lint/a11y/useSemanticElements: an SVG has no element for a group of links
    <svg
      role="group"
      aria-label="What happened to the events"
      width={width}
      height={layout.height + 4}
      viewBox={`0 -2 ${width} ${layout.height + 4}`}
    >
      {layout.links.map(({ from, to, path, kind, label }) => (
        <FlowAnchor
          key={`${from} ${to}`}
          workspace={props.workspace}
          address={addresses.get(`${from} ${to}`)}
          label={label}
        >
          <path d={path} className="flow-band" data-kind={kind}>
            <title>{label}</title>
          </path>
        </FlowAnchor>
      ))}
      {layout.nodes.map(node => (
        <g key={node.id} className="flow-node" data-kind={node.kind}>
          <rect x={node.x} y={node.y} width={NODE_WIDTH} height={node.height} rx={2} />
          <text x={node.x + NODE_WIDTH + 6} y={node.y + 12}>
            {shorten(node.title, isWide ? 24 : 14)}
          </text>
          <text x={node.x + NODE_WIDTH + 6} y={node.y + 29} className="flow-number">
            {node.text}
          </text>
        </g>
      ))}
    </svg>
  )
}

interface Address {
  page: 'events' | 'issues' | 'reports'
  search: EventFilters
}

interface FlowAnchorProps {
  workspace: string
  address: Address | undefined
  label: string
  children: ReactNode
}

/** A link inside the picture, without a new load of the page. */
function FlowAnchor({ workspace, address, label, children }: FlowAnchorProps) {
  const navigate = useNavigate()
  const router = useRouter()
  if (!address) return children
  const target = { to: `/w/${workspace}/${address.page}`, search: address.search } as never
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    void navigate(target)
  }
  return (
    <a href={router.buildLocation(target).href} aria-label={label} onClick={open}>
      {children}
    </a>
  )
}

interface Graph {
  nodes: FlowNode[]
  links: FlowLink[]
  /** By the ends of a link. */
  addresses: Map<string, Address>
}

/** Received, stored or refused, the groups, the outcomes and what the platform reported. */
function toGraph({ flow, rows, choice, nameOf }: FlowPictureProps, isWide: boolean): Graph {
  const graph: Graph = { nodes: [], links: [], addresses: new Map() }
  const first = isWide ? 1 : 0
  const deliveries = rows.reduce((sum, { stored }) => sum + stored, 0)
  const stored = flow.stored.reduce((sum, { count }) => sum + count, 0)
  const { requests: refused } = flow.refused
  // Each event goes to each destination: its bar is as high as its deliveries.
  const bar = Math.max(stored, deliveries)
  const add = (node: FlowNode) => {
    if (node.count > 0) graph.nodes.push(node)
  }
  const link = (band: FlowLink, address?: Address) => {
    if (band.count === 0) return
    graph.links.push(band)
    if (address) graph.addresses.set(`${band.from} ${band.to}`, address)
  }
  const storedText = formatNumber(stored)
  if (isWide) {
    const text = formatNumber(stored + refused)
    add({ id: 'received', column: 0, title: 'Received', text, count: bar + refused, kind: 'plain' })
    link(
      {
        from: 'received',
        to: 'stored',
        count: bar,
        label: `Stored: ${formatCount(stored, 'event')}`,
      },
      { page: 'events', search: bandFilters(flow, {}) },
    )
    link(
      {
        from: 'received',
        to: 'refused',
        count: refused,
        label: `Refused: ${formatCount(refused, 'request')}`,
      },
      { page: 'issues', search: {} },
    )
  }
  add({ id: 'stored', column: first, title: 'Stored', text: storedText, count: bar, kind: 'plain' })
  add({
    id: 'refused',
    column: first,
    title: 'Refused',
    text: formatNumber(refused),
    count: refused,
    kind: 'failed',
  })
  const groups = toGroups(rows, choice, nameOf)
  for (const group of groups) {
    const text = formatNumber(group.stored)
    add({ ...group, column: first + 1, text, count: group.stored, kind: 'plain' })
    link(
      { from: 'stored', to: group.id, count: group.stored, label: `${group.title}: ${text}` },
      toEvents(group, flow),
    )
    for (const outcome of OUTCOMES) {
      const count = group.counts[outcome]
      const label = `${group.title}, ${OUTCOME_TITLES[outcome]}: ${formatNumber(count)}`
      link({ from: group.id, to: outcome, count, label }, toEvents(group, flow, outcome))
    }
  }
  for (const outcome of OUTCOMES) {
    const count = groups.reduce((sum, { counts }) => sum + counts[outcome], 0)
    const part = isWide ? ` · ${formatPart(count, deliveries) ?? ''}` : ''
    const text = `${formatNumber(count)}${part}`
    add({
      id: outcome,
      column: first + 2,
      title: OUTCOME_TITLES[outcome],
      text,
      count,
      kind: outcome,
    })
  }
  if (isWide && flow.by === 'event') addReported(graph, { flow, rows, choice })
  return graph
}

/** None for a band that no filters show exactly. */
function toEvents(group: Group, flow: EventFlow, outcome?: Outcome): Address | undefined {
  if (outcome === 'none' || group.id === 'rest' || group.name === OTHER_NAMES) return undefined
  return { page: 'events', search: bandFilters(flow, { ...group, ...(outcome && { outcome }) }) }
}

/** What the platforms reported, as a part of what they accepted. */
function addReported(
  graph: Graph,
  { flow, rows, choice }: Pick<FlowPictureProps, 'flow' | 'rows' | 'choice'>,
): void {
  const accepted = rows.reduce((sum, { counts }) => sum + counts.accepted, 0)
  const reports = flow.counted.filter(
    ({ destination_id: id, days }) =>
      days > 0 && (choice.destination === null || id === choice.destination),
  )
  if (accepted === 0) return
  const total = reports.reduce((sum, each) => sum + each.total, 0)
  const counted = Math.min(accepted, total)
  const more = total > accepted ? ` of ${formatNumber(total)}` : ''
  const search = choice.destination ? { destination: choice.destination } : {}
  for (const [id, title, count, kind, text] of [
    ['counted', 'Counted', counted, 'accepted', `${formatNumber(counted)}${more}`],
    ['not-counted', 'Not reported', accepted - counted, 'none', formatNumber(accepted - counted)],
  ] as const) {
    if (count === 0) continue
    graph.nodes.push({ id, column: 4, title, text, count, kind })
    graph.links.push({ from: 'accepted', to: id, count, label: `${title}: ${text}` })
    graph.addresses.set(`accepted ${id}`, { page: 'reports', search })
  }
}

interface Group {
  id: string
  title: string
  destinationId?: string | null
  name?: string
  stored: number
  counts: Record<Outcome, number>
}

/** The largest groups, and the rest as one. */
function toGroups(
  rows: readonly FlowRow[],
  { group, destination }: FlowChoice,
  nameOf: FlowPictureProps['nameOf'],
): Group[] {
  const keyOf = (row: FlowRow) => (group === 'name' ? row.name : (row.destinationId ?? ''))
  const sums = [...Map.groupBy(rows, keyOf)].map(([key, own]): Group => {
    const [row] = own as [FlowRow]
    const title = group === 'name' ? row.name : nameOf(row.destinationId)
    const part =
      group === 'name'
        ? { name: row.name, destinationId: destination }
        : { destinationId: row.destinationId }
    return { id: `group ${key}`, title, ...part, ...sumRows(own) }
  })
  sums.sort((a, b) => b.stored - a.stored || a.title.localeCompare(b.title))
  if (sums.length <= GROUPS_MAX) return sums
  const rest = sums.slice(GROUPS_MAX - 1)
  const title = `${rest.length} more`
  return [
    ...sums.slice(0, GROUPS_MAX - 1),
    { id: 'rest', title, destinationId: destination, ...sumRows(rest) },
  ]
}

function sumRows(rows: readonly Pick<FlowRow, 'stored' | 'counts'>[]) {
  const counts = Object.fromEntries(
    OUTCOMES.map(outcome => [outcome, rows.reduce((sum, row) => sum + row.counts[outcome], 0)]),
  ) as Record<Outcome, number>
  return { stored: rows.reduce((sum, { stored }) => sum + stored, 0), counts }
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
