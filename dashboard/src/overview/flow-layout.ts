/** A node of a flow: a bar in a column, as high as its count. */
export interface FlowNode {
  id: string
  column: number
  title: string
  /** What is written as its number. */
  text: string
  count: number
  /** The kind decides the color. */
  kind: string
}

export interface FlowLink {
  from: string
  to: string
  count: number
  /** What a screen reader says. */
  label: string
}

export interface PlacedNode extends FlowNode {
  x: number
  y: number
  height: number
}

export interface PlacedLink extends FlowLink {
  /** The outline of the band, as the `d` of an SVG path. */
  path: string
  kind: string
}

export interface FlowLayout {
  nodes: PlacedNode[]
  links: PlacedLink[]
  height: number
}

/** The height of the highest column, in pixels, without its gaps. */
const BARS_HEIGHT = 230
/** Room for the two lines of text beside a node. */
const SLOT_MIN = 40
const GAP = 12
export const NODE_WIDTH = 8
/** A band that is there is seen. */
const HEIGHT_MIN = 2

interface FlowSize {
  width: number
  /** Room for the text right of the last column. */
  textWidth: number
}

/**
 * Places the nodes of each column one below the other, and the bands in the order of the nodes.
 * Heights compare within a column and from column to column.
 */
export function layOutFlow(
  nodes: readonly FlowNode[],
  links: readonly FlowLink[],
  { width, textWidth }: FlowSize,
): FlowLayout {
  const columns = [...Map.groupBy(nodes, ({ column }) => column).values()]
  const largest = Math.max(1, ...columns.map(column => sumCounts(column)))
  const scale = BARS_HEIGHT / largest
  const last = Math.max(1, ...nodes.map(({ column }) => column))
  const step = (width - textWidth - NODE_WIDTH) / last
  const placed = new Map<string, PlacedNode>()
  let height = 0
  for (const column of columns) {
    let y = 0
    for (const node of column) {
      const own = Math.max(HEIGHT_MIN, node.count * scale)
      placed.set(node.id, { ...node, x: node.column * step, y, height: own })
      y += Math.max(own, SLOT_MIN) + GAP
    }
    height = Math.max(height, y - GAP)
  }
  // Thin bands lie above wide ones, so that a pointer reaches them.
  const bands = placeLinks(links, placed).sort((a, b) => b.count - a.count)
  return { nodes: [...placed.values()], links: bands, height }
}

function sumCounts(rows: readonly { count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}

function placeLinks(
  links: readonly FlowLink[],
  nodes: ReadonlyMap<string, PlacedNode>,
): PlacedLink[] {
  const sums = { from: sumsOf(links, 'from'), to: sumsOf(links, 'to') }
  const used = new Map<string, number>()
  const take = (side: 'from' | 'to', link: FlowLink) => {
    const node = nodes.get(link[side]) as PlacedNode
    const key = `${side} ${node.id}`
    const start = used.get(key) ?? 0
    const part = link.count / Math.max(1, sums[side].get(node.id) ?? 1)
    const height = Math.max(1, part * node.height)
    used.set(key, start + part * node.height)
    return { x: node.x, top: node.y + start, bottom: node.y + start + height, kind: node.kind }
  }
  return links.map(link => {
    const [one, other] = [take('from', link), take('to', link)]
    const [left, right] = [one.x + NODE_WIDTH, other.x]
    const middle = (left + right) / 2
    const path =
      `M${left},${one.top} C${middle},${one.top} ${middle},${other.top} ${right},${other.top} ` +
      `L${right},${other.bottom} C${middle},${other.bottom} ${middle},${one.bottom} ` +
      `${left},${one.bottom} Z`
    return { ...link, path, kind: other.kind }
  })
}

function sumsOf(links: readonly FlowLink[], side: 'from' | 'to'): Map<string, number> {
  const sums = new Map<string, number>()
  for (const link of links) sums.set(link[side], (sums.get(link[side]) ?? 0) + link.count)
  return sums
}
