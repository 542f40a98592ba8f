import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Event } from '@signalbox/contract/events.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { buildEventPage, readPageRequest } from './pagination.ts'

const PATH = 'https://signals.example/api/v1/dashboard/events'

function page(number: number, { total = 0, perPage = 25, count = 0 } = {}) {
  const events = Array.from({ length: count }, () => ({}) as Event)
  return buildEventPage({ events, total, path: PATH, page: number, perPage })
}

function labels(number: number, lastPage: number): string {
  const { links } = page(number, { total: lastPage, perPage: 1, count: 1 })
  return links
    .slice(1, -1)
    .map(({ label, active }) => (active ? `[${label}]` : label))
    .join(' ')
}

it('builds every absolute link of a page in the middle', () => {
  const { links, data: _, ...rest } = page(2, { total: 60, count: 25 })
  assert.deepEqual(rest, {
    current_page: 2,
    first_page_url: `${PATH}?per_page=25&page=1`,
    from: 26,
    last_page: 3,
    last_page_url: `${PATH}?per_page=25&page=3`,
    next_page_url: `${PATH}?per_page=25&page=3`,
    path: PATH,
    per_page: 25,
    prev_page_url: `${PATH}?per_page=25&page=1`,
    to: 50,
    total: 60,
  })
  assert.deepEqual(links, [
    { url: `${PATH}?per_page=25&page=1`, label: '&laquo; Previous', active: false },
    { url: `${PATH}?per_page=25&page=1`, label: '1', active: false },
    { url: `${PATH}?per_page=25&page=2`, label: '2', active: true },
    { url: `${PATH}?per_page=25&page=3`, label: '3', active: false },
    { url: `${PATH}?per_page=25&page=3`, label: 'Next &raquo;', active: false },
  ])
})

it('returns null positions and one page for an empty list', () => {
  const empty = page(1)
  assert.deepEqual([empty.from, empty.to, empty.last_page, empty.total], [null, null, 1, 0])
  assert.deepEqual([empty.prev_page_url, empty.next_page_url], [null, null])
  assert.deepEqual(
    empty.links.map(({ url }) => url === null),
    [true, false, true],
  )
})

it('links back from a page past the end', () => {
  const beyond = page(9, { total: 60 })
  assert.deepEqual([beyond.from, beyond.to, beyond.next_page_url], [null, null, null])
  assert.equal(beyond.prev_page_url, `${PATH}?per_page=25&page=3`)
  assert.equal(beyond.current_page, 9)
})

it('links every page of a short list, and the ends and neighbors of a long one', () => {
  assert.equal(labels(1, 1), '[1]')
  assert.equal(labels(7, 13), '1 2 3 4 5 6 [7] 8 9 10 11 12 13')
  assert.equal(labels(1, 30), '[1] 2 3 4 5 6 7 8 9 10 ... 29 30')
  assert.equal(labels(8, 30), '1 2 3 4 5 6 7 [8] 9 10 ... 29 30')
  assert.equal(labels(9, 30), '1 2 ... 6 7 8 [9] 10 11 12 ... 29 30')
  assert.equal(labels(15, 30), '1 2 ... 12 13 14 [15] 16 17 18 ... 29 30')
  assert.equal(labels(23, 30), '1 2 ... 21 22 [23] 24 25 26 27 28 29 30')
  assert.equal(labels(30, 30), '1 2 ... 21 22 23 24 25 26 27 28 29 [30]')
})

it('counts pages from 1 and caps the page size', () => {
  assert.deepEqual(readPageRequest({}), { page: 1, perPage: 25 })
  assert.deepEqual(readPageRequest({ page: '3', per_page: '100' }), { page: 3, perPage: 100 })
  assert.deepEqual(readPageRequest({ per_page: '101' }), { page: 1, perPage: 100 })
  assert.deepEqual(readPageRequest({ per_page: '999999999999999', unknown: 'x' }), {
    page: 1,
    perPage: 100,
  })
})

it('refuses a page beyond the bound of the contract', () => {
  assert.equal(readPageRequest({ page: '1000000000' }).page, 1_000_000_000)
  const sentence = 'The page field must not be greater than 1000000000.'
  assert.throws(() => readPageRequest({ page: '1000000001' }), {
    status: 422,
    errors: { page: [sentence] },
  })
})

it('throws a refusal per field for anything but a positive integer', () => {
  for (const wrong of ['0', '-1', '1.5', '', 'all', ' 1', '1e2', ['1', '2'], '9'.repeat(16)]) {
    assert.throws(
      () => readPageRequest({ page: wrong, per_page: wrong }),
      (error: Refusal) => {
        assert.ok(error instanceof Refusal)
        assert.equal(error.status, 422)
        assert.deepEqual(Object.keys(error.errors ?? {}), ['page', 'per_page'])
        return true
      },
    )
  }
})
