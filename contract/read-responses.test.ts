import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sendRawRequest } from '../testing/fixtures/raw-http.ts'
import { type RequestOptions, startTestService } from '../testing/fixtures/service.ts'
import { type Address, assertDocumented, findExample } from './assert-documented.ts'
import { BASE_PATH, DOCUMENTED_OPERATIONS, OPERATIONS } from './operations.ts'

const READING = OPERATIONS.filter(({ method }) => method === 'GET')
const READING_ANYTHING = DOCUMENTED_OPERATIONS.filter(({ method }) => method === 'GET')

it('400 for an ambiguous request, from every read operation', async test => {
  const service = await startTestService(test)
  const headers = { origin: ['https://shop.example', 'https://another.example'] }
  assert.equal(READING_ANYTHING.length, 13)
  for (const { address, path } of READING_ANYTHING.map(placesOf)) {
    const reply = await sendRawRequest(service, { method: 'GET', path, headers })
    assertDocumented(address, reply, 400)
    assert.deepEqual(reply.body, findExample(address, 400, 'repeated_header'))
  }
})

it('every read operation returns 401 and 403 as documented', async test => {
  const service = await startTestService(test)
  const refused: [number, string, RequestOptions][] = [
    [401, 'unauthenticated', { secret: null }],
    [403, 'from_a_browser', { headers: { origin: 'https://shop.example' } }],
  ]
  for (const { address, path } of READING.map(placesOf)) {
    for (const [status, name, options] of refused) {
      const reply = await service.request('GET', path, options)
      assertDocumented(address, reply, status)
      assert.deepEqual(reply.body, findExample(address, status, name))
    }
  }
})

it('every read operation returns 500 for an internal error as documented', async test => {
  const service = await startTestService(test)
  const { pool } = service.database
  const { rows } = await pool.query(
    `select oid::regclass::text as name from pg_class
     where relkind in ('r', 'p') and not relispartition
       and relnamespace in ('public'::regnamespace, 'signalbox_store'::regnamespace)
       and relname not in ('trackers', 'tracker_keys')`,
  )
  await pool.query(`drop table ${rows.map(({ name }) => name).join(', ')} cascade`)
  for (const { address, path } of READING.map(placesOf)) {
    const reply = await service.request('GET', path)
    assertDocumented(address, reply, 500)
    assert.deepEqual(reply.body, findExample(address, 500, 'fault'))
  }
})

function placesOf({ url }: (typeof READING_ANYTHING)[number]): { address: Address; path: string } {
  const address = [url.replaceAll(/:(\w+)/g, '{$1}'), 'get'] as const
  return { address, path: `${BASE_PATH}${url.replaceAll(/:\w+/g, 'x')}?date=2026-11-20` }
}
