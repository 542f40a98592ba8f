import assert from 'node:assert/strict'
import { it } from 'node:test'
import { InvalidArgumentError, Signalbox } from './src/sdk.ts'

/** A client that keeps the bodies of its requests. */
function createRecorder() {
  const bodies: string[] = []
  const fetch = async (_url: unknown, init?: RequestInit) => {
    bodies.push(String(init?.body))
    return Response.json({ event_id: 'a', duplicate: false }, { status: 202 })
  }
  const client = new Signalbox({ token: 't', baseUrl: 'http://signalbox.example', fetch })
  return { bodies, client }
}

const eventWith = (own: unknown) => ({
  event_name: 'Lead',
  consent_basis: 'consent' as const,
  user_data: { own },
})

it('refuses what JSON would change or leave out without a word, and names its kind only', async () => {
  const { bodies, client } = createRecorder()
  const deep: unknown[] = []
  let innermost = deep
  for (let depth = 0; depth < 20_000; depth += 1) {
    const next: unknown[] = []
    innermost.push(next)
    innermost = next
  }
  const failing = {
    toJSON() {
      throw new Error('secret')
    },
  }
  const refused: [unknown, RegExp][] = [
    [Promise.resolve('secret'), /has a Promise, which must be awaited/],
    [new Map([['secret', 1]]), /has a Map/],
    [new Uint8Array([1]), /has a Uint8Array/],
    [/secret/, /has a RegExp/],
    [new Error('secret'), /has a Error/],
    [new URLSearchParams('a=secret'), /has a URLSearchParams/],
    [Symbol('secret'), /has a symbol/],
    [5n, /has a bigint/],
    [Object(Number.NaN), /has NaN/],
    [[Number.NEGATIVE_INFINITY], /has -Infinity/],
    [deep, /nested too deep/],
    [failing, /has a value that fails/],
  ]
  for (const [value, reason] of refused) {
    await assert.rejects(client.events.create(eventWith(value)), error => {
      assert.ok(error instanceof InvalidArgumentError)
      assert.match(error.message, reason)
      assert.doesNotMatch(`${error.message}${error.stack}${error.cause}`, /secret/)
      return true
    })
  }
  assert.deepEqual(bodies, [])
})

it('sends what JSON can hold, and what writes itself', async () => {
  const { bodies, client } = createRecorder()
  class Mug {
    readonly name = 'mug'
  }
  const value = {
    time: new Date('2026-11-23T10:00:00Z'),
    url: new URL('https://shop.example/'),
    amount: { toJSON: () => '19.90' },
    mug: new Mug(),
    bare: Object.assign(Object.create(null), { a: 1 }),
    left: undefined,
    list: [null, true, 1.5, 'a', Object('b')],
  }
  await client.events.create(eventWith(value))
  assert.deepEqual(JSON.parse(bodies[0] ?? '').user_data.own, {
    time: '2026-11-23T10:00:00.000Z',
    url: 'https://shop.example/',
    amount: '19.90',
    mug: { name: 'mug' },
    bare: { a: 1 },
    list: [null, true, 1.5, 'a', 'b'],
  })
})

it('keeps an event of a queue as it was when it was added', async () => {
  const { bodies, client } = createRecorder()
  const queue = client.queue({ concurrency: 1 })
  const event = eventWith('first')
  queue.add(event)
  event.user_data.own = 'second'
  queue.add(event)
  event.user_data.own = 'third'
  await queue.flush()
  const [batch = ''] = bodies
  const sent = JSON.parse(batch).events.map((one: typeof event) => one.user_data.own)
  assert.deepEqual(sent, ['first', 'second'])
})
