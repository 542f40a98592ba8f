import { getBorderCharacters, table } from 'table'

export interface TableColumn {
  align?: 'left' | 'right'
  /** For tables that are printed in parts. Left out: as wide as its longest cell. */
  width?: number
}

interface TableOptions {
  columns?: readonly TableColumn[]
  /** Before every line. */
  indent?: string
  /** Between columns; two spaces by default. */
  gap?: string
}

/** Rows as aligned text for a terminal, without borders and without trailing spaces. */
export function formatTable(
  rows: readonly (readonly string[])[],
  { columns = [], indent = '', gap = '  ' }: TableOptions = {},
): string {
  if (rows.length === 0) return ''
  const text = table(rows, {
    border: { ...getBorderCharacters('void'), bodyJoin: gap },
    columnDefault: { paddingLeft: 0, paddingRight: 0 },
    columns: columns.map(({ align = 'left', width }) => ({
      alignment: align,
      ...(width !== undefined && { width }),
    })),
    drawHorizontalLine: () => false,
  })
  return text.replaceAll(/^(.*?) *$/gm, (_, line: string) => (line === '' ? '' : indent + line))
}

/**
 * Text that a caller, a platform or a user wrote, as one line: it must neither break the line nor
 * control the terminal.
 */
export function stripControlCharacters(text: string): string {
  return text.replaceAll(/\p{C}+/gu, ' ')
}
