import { html } from 'ghtml'
import Type from 'typebox'
import { Validator } from '../http/validator.ts'
import type { ListPage } from '../util/list-page.ts'

/** Links to the pages before and after. Empty for a list of one page. Returns HTML. */
export function pageLinks({ page, hasMore }: Omit<ListPage<unknown>, 'rows'>, path: string) {
  if (page === 1 && !hasMore) return ''
  const before = html`<a href="${path}?page=${page - 1}" rel="prev">Previous</a>`
  const after = html`<a href="${path}?page=${page + 1}" rel="next">Next</a>`
  return html`<nav class="actions part" aria-label="Pages">
!${page > 1 ? before : ''} !${hasMore ? after : ''}</nav>`
}

const noticeQuery = new Validator(Type.Object({ done: Type.Optional(Type.String()) }))

/**
 * What pages confirm after a form: one of these sentences, by its code in the query. A link cannot
 * make a page show any other text.
 */
export class Notices<Code extends string> {
  readonly #sentences: Readonly<Record<Code, string>>

  constructor(sentences: Readonly<Record<Code, string>>) {
    this.#sentences = sentences
  }

  /** The address of a page that shows the notice. */
  addTo(path: string, code: NoInfer<Code>): string {
    return `${path}?done=${code}`
  }

  /** The notice that a query names, if any. */
  find(query: unknown): string | undefined {
    const { done } = noticeQuery.pickValid(query)
    return done !== undefined && this.#has(done) ? this.#sentences[done] : undefined
  }

  #has(code: string): code is Code {
    return Object.hasOwn(this.#sentences, code)
  }
}
