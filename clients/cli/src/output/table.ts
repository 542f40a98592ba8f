import { type Color, printable, type Style } from './style.ts'

interface Column {
  title: string
  align?: 'left' | 'right'
  /** Cut when the terminal is too narrow. */
  isFlexible?: boolean
}

export type Cell = string | { text: string; color: Color }

interface TableOptions {
  style: Style
  /** Of the terminal; null in a pipe, where nothing is cut. */
  width: number | null
}

const GAP = '  '
const FLEXIBLE_WIDTH_MIN = 8

/** Rows below a header, without lines, so that the eye and `awk` find the columns. */
export class Table {
  readonly #columns: readonly Column[]
  readonly #options: TableOptions
  #widths: number[] | null = null

  constructor(columns: readonly Column[], options: TableOptions) {
    this.#columns = columns
    this.#options = options
  }

  /** The first call prints the header; later ones keep its widths, so that pages line up. */
  format(rows: readonly (readonly Cell[])[]): string {
    const isFirst = this.#widths === null
    const clean = rows.map(row => row.map(cell => toCell(cell)))
    this.#widths ??= this.#measure(clean)
    const header = this.#columns.map(({ title }) => ({ text: title, color: 'dim' as const }))
    const lines = isFirst ? [header, ...clean] : clean
    return lines.map(cells => `${this.#formatLine(cells)}\n`).join('')
  }

  #measure(rows: readonly (readonly StyledText[])[]): number[] {
    const widths = this.#columns.map(({ title }, at) =>
      Math.max(displayWidth(title), ...rows.map(row => displayWidth(row[at]?.text ?? ''))),
    )
    const { width } = this.#options
    if (width === null) return widths
    const sum = () => widths.reduce((total, each) => total + each, GAP.length * (widths.length - 1))
    for (const [at, { isFlexible }] of this.#columns.entries()) {
      const own = widths[at] ?? 0
      if (isFlexible) widths[at] = Math.min(own, Math.max(FLEXIBLE_WIDTH_MIN, own - sum() + width))
    }
    return widths
  }

  #formatLine(cells: readonly StyledText[]): string {
    const texts = this.#columns.map(({ align, isFlexible }, at) => {
      const { text, color } = cells[at] ?? { text: '' }
      const width = this.#widths?.[at] ?? 0
      const cut = isFlexible && this.#options.width !== null ? cutText(text, width) : text
      const space = ' '.repeat(Math.max(0, width - displayWidth(cut)))
      const styled = color ? this.#options.style(color, cut) : cut
      return align === 'right' ? `${space}${styled}` : `${styled}${space}`
    })
    return texts.join(GAP).trimEnd()
  }
}

interface StyledText {
  text: string
  color?: Color
}

function toCell(cell: Cell): StyledText {
  return typeof cell === 'string'
    ? { text: printable(cell) }
    : { ...cell, text: printable(cell.text) }
}

/** Names beside values, as a record is read. */
export function formatFacts(facts: readonly (readonly [string, Cell])[], style: Style): string {
  const width = Math.max(0, ...facts.map(([name]) => name.length))
  return facts
    .map(([name, cell]) => {
      const { text, color } = toCell(cell)
      return `  ${style('dim', name.padEnd(width))}  ${color ? style(color, text) : text}\n`
    })
    .join('')
}

function cutText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let cut = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (displayWidth(cut) + displayWidth(segment) > width - 1) break
    cut += segment
  }
  return `${cut}…`
}

const WIDE = /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff]/u
const WIDE_FORMS = /[\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u

/** Columns on a terminal: two for East Asian characters and emoji. */
function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += WIDE.test(segment) || WIDE_FORMS.test(segment) ? 2 : 1
  }
  return width
}
