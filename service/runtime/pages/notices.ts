import Type from 'typebox'
import { Validator } from '../http/validator.ts'

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
