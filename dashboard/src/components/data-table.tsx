import { Table } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'

export interface Column<Row> {
  /** Unique in the table, for example `received`. */
  key: string
  header: string
  cell: (row: Row) => ReactNode
  /** Right for numbers and amounts. */
  align?: 'right'
  /**
   * `whole` is never broken and never cut: statuses, amounts, times, order numbers. `free` may
   * break anywhere and gives its room to the others. Other texts break between words.
   */
  wrap?: 'whole' | 'free'
  /** Left out on screens that are narrower. */
  from?: 'sm' | 'md' | 'lg'
}

interface DataTableProps<Row> {
  /** What the table is, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  rowClass?: (row: Row) => string
  /** What rows that follow each other share: a line of its own above them, in their place. */
  groupOf?: (row: Row) => string
}

/**
 * The one table of the dashboard: rows of 40 px, numbers aligned, sideways scrolling inside where
 * a phone has no room, and nothing cut.
 */
export function DataTable<Row>({ label, columns, rows, ...props }: DataTableProps<Row>) {
  const { rowKey, rowClass = () => '', groupOf } = props
  return (
    <Table.ScrollContainer className="surface" minWidth={0} type="native" tabIndex={0}>
      <Table className="data-table" highlightOnHover aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(column => (
              <Table.Th key={column.key} {...placeOf(column)}>
                {column.header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Fragment key={rowKey(row)}>
              {groupOf && isFirstOfGroup(rows, index, groupOf) && (
                <Table.Tr className="group-row">
                  <Table.Th scope="rowgroup" colSpan={columns.length}>
                    {groupOf(row)}
                  </Table.Th>
                </Table.Tr>
              )}
              <Table.Tr className={rowClass(row)}>
                {columns.map(column => (
                  <Table.Td key={column.key} data-wrap={column.wrap} {...placeOf(column)}>
                    {column.cell(row)}
                  </Table.Td>
                ))}
              </Table.Tr>
            </Fragment>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function isFirstOfGroup<Row>(
  rows: readonly Row[],
  index: number,
  groupOf: (row: Row) => string,
): boolean {
  const [before, row] = [rows[index - 1], rows[index]]
  return row !== undefined && (before === undefined || groupOf(before) !== groupOf(row))
}

function placeOf<Row>({ align, from }: Column<Row>) {
  return { ...(align && { ta: align }), ...(from && { visibleFrom: from }) }
}
