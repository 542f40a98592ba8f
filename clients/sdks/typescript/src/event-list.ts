import type { Event, EventList } from './contract.generated.ts'
import type { Result } from './request.ts'

export interface ListParameters {
  /** From 1. */
  page?: number | undefined
  /** At most 100; 25 by default. */
  per_page?: number | undefined
}

type ReadPage = (page: number | undefined) => Promise<Result<EventList>>

/**
 * Events, newest first. `await` gives one page; `for await` goes through the events of all pages
 * and asks for a page when its first event is needed.
 */
export class EventListRequest implements PromiseLike<Result<EventList>>, AsyncIterable<Event> {
  readonly #first: number | undefined
  readonly #readPage: ReadPage

  constructor(first: number | undefined, readPage: ReadPage) {
    this.#first = first
    this.#readPage = readPage
  }

  // biome-ignore lint/suspicious/noThenProperty: the request is sent when it is awaited
  then<Value = Result<EventList>, Failure = never>(
    onFulfilled?: ((list: Result<EventList>) => Value | PromiseLike<Value>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Value | Failure> {
    return this.#readPage(this.#first).then(onFulfilled, onRejected)
  }

  /** As that of a Promise. */
  catch<Failure>(onRejected: (reason: unknown) => Failure): Promise<Result<EventList> | Failure> {
    return this.then(list => list, onRejected)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    let page = this.#first ?? 1
    let before = new Set<string>()
    for (let parameter = this.#first; ; parameter = page) {
      // URLs of the answer are not followed: they could name another host.
      const { events } = await this.#readPage(parameter)
      const found = events?.data ?? []
      // New events push others to the next page, where they would come again.
      for (const event of found) if (!before.has(event.id)) yield event
      if (found.length === 0 || !hasNextPage(events, page)) return
      before = new Set(found.map(({ id }) => id))
      page += 1
    }
  }
}

function hasNextPage(events: Partial<EventList['events']>, page: number): boolean {
  if (typeof events.last_page === 'number') return page < events.last_page
  return typeof events.next_page_url === 'string'
}
