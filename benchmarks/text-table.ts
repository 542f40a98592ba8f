/** Columns of equal width for a terminal: the first to the left, all others to the right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map(row => row[column]?.length ?? 0)),
  )
  return rows.map(row => textRow(row, widths)).join('\n')
}

function textRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => {
    const width = widths[column] ?? 0
    return column === 0 ? cell.padEnd(width) : cell.padStart(width)
  })
  return cells.join('  ').trimEnd()
}

/** A number with separated thousands. Null stands for what this operating system does not tell. */
export function figureText(figure: number | null, digits: number): string {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return figure === null ? 'not known' : figure.toLocaleString('en-US', fraction)
}
