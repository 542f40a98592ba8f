import { html } from 'ghtml'
import type { ListPage } from '../util/list-page.ts'

/** Links to the pages before and after. Empty for a list of one page. Returns HTML. */
export function pageLinks({ page, hasMore }: Omit<ListPage<unknown>, 'rows'>, path: string) {
  if (page === 1 && !hasMore) return ''
  const before = html`<a href="${path}?page=${page - 1}" rel="prev">Previous</a>`
  const after = html`<a href="${path}?page=${page + 1}" rel="next">Next</a>`
  return html`<nav class="actions part" aria-label="Pages">
!${page > 1 ? before : ''} !${hasMore ? after : ''}</nav>`
}
