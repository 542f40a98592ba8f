import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  type RequestOptions,
  startTestService,
  type TestService,
} from '../../../testing/fixtures/service.ts'

const BATCH = '/api/v1/events/batch'
const NDJSON = { 'content-type': 'application/x-ndjson' }

const purchases = (count: number, prefix = 'order') =>
  Array.from({ length: count }, (_, index) => samplePurchase({ event_id: `${prefix}-${index}` }))

type Bytes = NonNullable<RequestOptions['rawBody']>

const send = (service: TestService, rawBody: string | Buffer, headers = {}) =>
  service.request('POST', BATCH, { rawBody: rawBody as Bytes, headers })

type Result = { status: number; event_id?: string; message?: string; retry_after?: number }
const statusesOf = ({ body }: { body: { results: Result[] } }) =>
  body.results.map(({ status }) => status)

it('reads one event a line, and a line that is no JSON refuses itself alone', async test => {
  const service = await startTestService(test)
  const [first, second, third] = purchases(3).map(event => JSON.stringify(event))
  const invalid = Buffer.from([0x22, 0xff, 0x22])
  const lines = [first, '', '{"event_id": ', `  ${second}\r`, '{"a":1,"a":2}', '\t ', third]
  const body = Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), invalid])
  const reply = await send(service, body, NDJSON)
  assert.deepEqual(statusesOf(reply), [202, 400, 202, 400, 202, 400])
  assert.equal(reply.body.results[1].message, 'The body is not valid JSON.')
  for (const nothing of ['', '\n \n']) {
    assert.equal((await send(service, nothing, NDJSON)).status, 422)
  }
})

it('refuses a JSON batch as a whole when it is no JSON, and stores nothing', async test => {
  const service = await startTestService(test)
  const event = JSON.stringify(samplePurchase())
  for (const malformed of [
    '{',
    '[',
    '"',
    `{"events":[${event}`,
    `{"events":[${event}]`,
    `{"events":[${event},]}`,
    `{"events":[,${event}]}`,
    `{"events":[${event} ${event}]}`,
    `{"events":[${event}]}]`,
    `{"events":[${event}}]`,
    `{"events":[${event}]} x`,
    `{"events":[${event}],"events":[]}`,
    `{"events":1,"events":[${event}]}`,
    `{"x":[${event}],"events":[{]}]}`,
    `{"events":[${event}],}`,
    `{"x":"\\","events":[${event}]`,
  ]) {
    assert.equal(
      (await send(service, malformed, { 'content-type': 'application/json' })).status,
      400,
      malformed,
    )
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('finds the list of events among other members and white space', async test => {
  const service = await startTestService(test)
  for (const [index, [before, after]] of [
    ['{"events":[', ']}'],
    [' {\n "note" : "a \\"events\\": [1] {" , "events" : [ ', ' ] , "x":{"events":[1,[2]]}} '],
    ['{"x":{"events":[1]},"y":[{"events":[2]}],"events":[', ']}'],
    ['{"\\u0065vents":[', ']}'],
  ].entries()) {
    const event = samplePurchase({ event_id: `list-${index}`, custom_properties: { a: ']},{[' } })
    const body = `${before}${JSON.stringify(event)}${after}`
    const reply = await send(service, body, { 'content-type': 'application/json' })
    assert.deepEqual([reply.status, statusesOf(reply)], [200, [202]], body)
  }
})

it('applies the rules for bodies to each event of a JSON batch', async test => {
  const service = await startTestService(test)
  const good = JSON.stringify(samplePurchase())
  const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`
  const large = JSON.stringify(samplePurchase({ event_id: 'l', x: 'x'.repeat(65_536) }))
  const unstorable = '{"event_id":"\\u0000"}'
  const prototype = JSON.stringify(samplePurchase({ event_id: 'p' })).replace(
    '{',
    '{"__proto__":{"consent":1},',
  )
  const texts = [good, '{"a":1,"a":2}', deep, large, unstorable, prototype]
  const reply = await send(service, `{"events":[${texts.join(',')}]}`, {
    'content-type': 'application/json',
  })
  assert.deepEqual(statusesOf(reply), [202, 400, 400, 422, 422, 202])
  assert.match(reply.body.results[3].message, /larger than 65536 bytes/)
})

it('reads every frame of a compressed body, or refuses it', async test => {
  const service = await startTestService(test)
  const text = (event: unknown) => Buffer.from(`${JSON.stringify(event)}\n`)
  const [first, second] = purchases(2).map(text) as [Buffer, Buffer]
  const post = (coding: string, ...parts: Buffer[]) =>
    send(service, Buffer.concat(parts), { ...NDJSON, 'content-encoding': coding })
  // Frames that a decoder skips (RFC 8878, section 3.1.2), and padding as of a tape.
  const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2])
  const padding = Buffer.alloc(512)
  // Blank lines that shrink to a fifth.
  const blank = randomBytes(600_000).map(byte => ' \t\n'.charCodeAt(byte % 3))
  for (const [coding, compress] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const frames = [compress(first), compress(second)]
    const half = compress(second).subarray(0, -3)
    const large = compress(Buffer.concat([second, blank]))
    assert.equal(statusesOf(await post(coding, ...frames)).length, 2, coding)
    assert.equal(statusesOf(await post(coding, ...frames, padding)).length, 2, coding)
    assert.equal(statusesOf(await post(coding, frames[0] as Buffer, padding, large)).length, 2)
    assert.equal((await post(coding, ...frames, Buffer.from('rest'))).status, 400, coding)
    assert.equal((await post(coding, ...frames, half)).status, 400, coding)
    // Each is small enough, and both together are not.
    assert.equal((await post(coding, large, large)).status, 413, coding)
    assert.equal((await post(coding, padding)).status, 400, coding)
  }
  const zstd = zstdCompressSync(first)
  assert.equal(statusesOf(await post('zstd', skipped, zstd, skipped)).length, 1)
  assert.equal((await post('zstd', ...Array<Buffer>(201).fill(skipped), zstd)).status, 413)
})

it('refuses more events than a request may have, however many, and still reads all JSON', async test => {
  const service = await startTestService(test)
  const json = { 'content-type': 'application/json' }
  const refused = await send(service, '1\n'.repeat(500_000), NDJSON)
  assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['events']])
  assert.equal((await send(service, '1\n'.repeat(200), NDJSON)).body.results.length, 200)
  const list = '1,'.repeat(400_000)
  assert.equal((await send(service, `{"events":[${list}1]}`, json)).status, 422)
  assert.equal((await send(service, `{"events":[${list}1]`, json)).status, 400)
  assert.equal((await send(service, `{"events":[${list}1]} x`, json)).status, 400)
})

it('takes gzip and zstd, within limits of size and of ratio', async test => {
  const service = await startTestService(test)
  const json = { 'content-type': 'application/json' }
  const body = Buffer.from(JSON.stringify({ events: purchases(100) }))
  for (const [coding, bytes] of [
    ['gzip', gzipSync(body)],
    ['ZSTD', zstdCompressSync(body)],
    ['identity', body],
  ] as const) {
    const reply = await send(service, bytes, { ...json, 'content-encoding': coding })
    assert.deepEqual([reply.status, reply.body.results.length], [200, 100], coding)
  }
  const statusOf = async (bytes: Buffer, coding: string) =>
    (await send(service, bytes, { ...json, 'content-encoding': coding })).status
  const huge = Buffer.alloc(1_048_577, ' ')
  assert.equal(await statusOf(gzipSync(huge), 'gzip'), 413)
  assert.equal(await statusOf(zstdCompressSync(Buffer.alloc(900_000, ' ')), 'zstd'), 413)
  assert.equal((await send(service, huge, json)).status, 413)
  for (const coding of ['gzip', 'zstd']) {
    assert.equal(await statusOf(Buffer.from('no such thing'), coding), 400)
    assert.equal(await statusOf(gzipSync(body).subarray(0, 50), coding), 400)
  }
  for (const coding of ['br', 'deflate', 'gzip, gzip']) {
    const refused = await send(service, gzipSync(body), { ...json, 'content-encoding': coding })
    assert.equal(refused.status, 415)
    assert.equal(refused.headers.get('accept-encoding'), 'gzip, zstd')
  }
  assert.equal((await send(service, body, { 'content-type': 'text/csv' })).status, 415)
})
