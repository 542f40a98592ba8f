/** Rows of one page of a list. */
const PAGE_ROWS = 50

export interface ListPage<Row> {
  rows: readonly Row[]
  /** From 1. */
  page: number
  hasMore: boolean
}

/** What to select for a page: one more row than it shows, to know whether another page follows. */
export function pageRange(page: number): { offset: number; limit: number } {
  return { offset: (page - 1) * PAGE_ROWS, limit: PAGE_ROWS + 1 }
}

/** The page of the rows that were selected by `pageRange`. */
export function toListPage<Row>(selected: readonly Row[], page: number): ListPage<Row> {
  return { rows: selected.slice(0, PAGE_ROWS), page, hasMore: selected.length > PAGE_ROWS }
}

/** The members of a list in the browser API. */
export function pageMembers({ page, hasMore }: Omit<ListPage<unknown>, 'rows'>) {
  return { page, per_page: PAGE_ROWS, has_more: hasMore }
}
