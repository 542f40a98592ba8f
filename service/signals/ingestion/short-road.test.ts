import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import {
  PLAIN_HEADERS,
  PURCHASE_FORM,
  post,
  REQUEST_FORMS,
  type RequestForm,
  short,
} from '../../../testing/fixtures/request-forms.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const PATH = '/api/v1/events'
/** An empty query leaves any request to the framework. */
const QUERY = '?'

let attempts = 0

/** Sends the form to the path, and returns all bytes that come back with the ID as `ID`. */
async function send(service: TestService, form: RequestForm, path: string) {
  const { text, endsEarly, cutAt } = form
  attempts += 1
  const id = `road-${String(attempts).padStart(4, '0')}`
  const fill = (piece: string | Buffer) =>
    Buffer.from(
      piece
        .toString('latin1')
        .replaceAll('{path}', path)
        .replaceAll('{query}', path.slice(PATH.length))
        .replaceAll('{secret}', service.tracker.trackerSecret)
        .replaceAll('{key}', service.tracker.publishableKey)
        .replaceAll('{id}', id),
      'latin1',
    )
  const filled = [text]
    .flat()
    .map(piece => fill(typeof piece === 'string' ? Buffer.from(piece) : piece))
  const whole = Buffer.concat(filled)
  const pieces = cutAt ? [whole.subarray(0, cutAt), whole.subarray(cutAt)] : filled
  const received = await exchange(service, pieces, endsEarly)
  return {
    received: received.replaceAll(id, 'ID'),
    requestIds: received.match(/req_[0-9a-f]{32}/g) ?? [],
  }
}

function exchange({ url }: TestService, pieces: Buffer[], endsEarly = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const place = { port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true }
    const socket = connect(place, async () => {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await delay(20)
        socket.write(piece)
      }
      if (endsEarly) socket.end()
    })
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', error => (chunks.length === 0 ? reject(error) : undefined))
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  })
}

/** Responses without what differs between any two requests, and with their headers in order. */
function normalize(received: string): string {
  // The service closes the connection if the rest of a body that is too large is still to come.
  const isTooLarge = received.startsWith('HTTP/1.1 413')
  const comparable = isTooLarge ? received.replace(/^connection: close\r\n/im, '') : received
  const [head = '', ...bodies] = comparable
    .replaceAll(/req_[0-9a-f]{32}/g, 'REQUEST')
    .replaceAll(/^date: .*$/gim, 'date: NOW')
    .replaceAll(/;r=\d+;t=\d+/g, ';r=N;t=N')
    .replaceAll(/token:[0-9a-f]+/g, 'TOKEN')
    .replaceAll(/evt_[0-9a-f-]+/g, 'EVENT')
    .split('\r\n\r\n')
  const sort = (part: string) =>
    part
      .split('\r\n')
      .map(line => line.replace(/^[A-Za-z-]+:/, name => name.toLowerCase()))
      .toSorted()
      .join('\n')
  return [sort(head), ...bodies.map(sort)].join('\n\n')
}

/** The lines of these requests without their times. */
function linesOf(service: TestService, requestIds: readonly string[]): unknown[] {
  const lines = service.logged().split('\n').filter(Boolean)
  return requestIds.flatMap(id =>
    lines
      .filter(line => line.includes(id))
      .map(line => ({ ...JSON.parse(line), time: '', request_id: '', milliseconds: 0 })),
  )
}

async function sendBoth(service: TestService, form: RequestForm) {
  const { shortRoad } = service.server.app
  for (;;) {
    // The secret and the key are known for half a second.
    const ofWhole = await send(service, form, `${PATH}${QUERY}`)
    await service.read('none')
    const before = shortRoad.taken
    const ofShort = await send(service, form, PATH)
    const isTaken = shortRoad.taken > before
    if (isTaken === form.isShort) return { ofShort, ofWhole }
    assert.ok(form.isShort, 'takes the short road')
  }
}

it('answers each form of a request on the short road as the framework does', async test => {
  const service = await startTestService(test)
  for (const [name, form] of Object.entries(REQUEST_FORMS)) {
    const { ofShort, ofWhole } = await sendBoth(service, form)
    assert.match(ofWhole.received, /^HTTP\/1\.1 \d{3} /, name)
    assert.equal(normalize(ofShort.received), normalize(ofWhole.received), name)
    assert.equal(ofShort.requestIds.length, ofWhole.requestIds.length, name)
    const count = ofWhole.requestIds.length
    const allIds = [...ofShort.requestIds, ...ofWhole.requestIds]
    await waitUntil(`${name}: its lines`, () => linesOf(service, allIds).length >= 2 * count)
    assert.deepEqual(
      linesOf(service, ofShort.requestIds),
      linesOf(service, ofWhole.requestIds),
      name,
    )
  }
})

const MEMBERS = [
  ...['event_id', 'event_name', 'event_time', 'event_source', 'visitor_id', 'consent_basis'],
  ...['consent', 'user_data', 'value_data', 'click_ids', 'withdrawn_platforms', 'more'],
] as const
const HEADERS = [
  'Idempotency-Key: {id}\r\n',
  'Sec-GPC: 1\r\n',
  'Accept: text/html\r\n',
  'X-Forwarded-For: 203.0.113.7\r\n',
  'X-HTTP-Method-Override: GET\r\n',
  'TE: trailers\r\n',
]

it('answers any members, headers and pieces of a request alike on both roads', async test => {
  const service = await startTestService(test)
  const before = service.server.app.shortRoad.taken
  const members = fc.dictionary(fc.constantFrom(...MEMBERS), fc.jsonValue({ maxDepth: 2 }))
  const headers = fc.subarray(HEADERS, { maxLength: 3 })
  const requests = fc.tuple(members, headers, fc.nat({ max: 2_000 }))
  await fc.assert(
    fc.asyncProperty(requests, async ([given, lines, cutAt]) => {
      const body = { ...samplePurchase({ event_id: '{id}' }), ...given }
      // A valid ID would make the second request a duplicate of the first.
      if (typeof body.event_id === 'string') body.event_id += '{id}'
      const form = { ...short(post(body, `${PLAIN_HEADERS}${lines.join('')}`)), cutAt }
      await service.read('none')
      const { received } = await send(service, form, PATH)
      const ofWhole = await send(service, form, `${PATH}${QUERY}`)
      assert.equal(normalize(received), normalize(ofWhole.received))
    }),
    { numRuns: 40 },
  )
  assert.ok(service.server.app.shortRoad.taken > before)
})

it('answers alike when the queue is full, and while the process is overloaded', async test => {
  const full = await startTestService(test, { ingestQueueMax: 0 })
  const { ofShort, ofWhole } = await sendBoth(full, PURCHASE_FORM)
  assert.match(ofShort.received, /^HTTP\/1\.1 503 /)
  assert.equal(normalize(ofShort.received), normalize(ofWhole.received))

  const world = { seconds: 0, delay: 0 }
  const late = await startTestService(test, {
    limits: { eventLoopDelayMillisecondsMax: 1_000 },
    monotonicSeconds: () => world.seconds,
    readDelaySeconds: () => world.delay,
  })
  assert.equal((await late.submit(samplePurchase())).status, 202)
  world.delay = 2
  for (world.seconds = 1; world.seconds < 4; world.seconds += 1) await late.read('none')
  const before = late.server.app.shortRoad.taken
  assert.equal((await late.submit(samplePurchase())).status, 503)
  assert.equal(late.server.app.shortRoad.taken, before)
})

it('takes from the limit of the tracker on both roads, and refuses beyond it', async test => {
  const service = await startTestService(test, {
    limits: { trackerRatePerSecond: 2 },
    monotonicSeconds: () => 1_000,
  })
  const { shortRoad } = service.server.app
  const answers = []
  // The first secret of a process is looked up, so at least one of them takes the short road.
  for (let count = 0; count < 6; count += 1) answers.push(await service.submit(samplePurchase()))
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('ratelimit')]),
    [
      [202, '"tracker";r=3;t=2'],
      [200, '"tracker";r=2;t=1'],
      [200, '"tracker";r=1;t=1'],
      [200, '"tracker";r=0;t=1'],
      [429, '"tracker";r=0;t=1'],
      [429, '"tracker";r=0;t=1'],
    ],
  )
  assert.ok(shortRoad.taken <= 3)
})

it('counts refused events of both roads', async test => {
  const service = await startTestService(test)
  const { ofShort } = await sendBoth(
    service,
    short(post({ ...samplePurchase({ event_id: '{id}' }), event_name: '' })),
  )
  assert.match(ofShort.received, /^HTTP\/1\.1 422 /)
  await sendBoth(service, short(post('{')))
  await service.server.flushRefusals()
  const { rows } = await service.database.pool.query(
    'select status, rule, requests, cardinality(id_digests) as ids from refusals order by status',
  )
  // A request that came after the half-second of its secret took the framework once more.
  const counts = rows.map(({ status, rule, requests, ids }) => [
    status,
    rule,
    requests >= 2,
    ids >= 2,
  ])
  assert.deepEqual(counts, [
    [400, 'unreadable_body', true, false],
    [422, 'empty', true, true],
  ])
})

it('leaves all requests to the framework after a failed authentication', async test => {
  const service = await startTestService(test, { limits: { failedAuthRatePerMinute: 60 } })
  await service.read('none')
  const wrong = await service.request('GET', `${PATH}/none`, { secret: 'wrong' })
  assert.equal(wrong.status, 401)
  const before = service.server.app.shortRoad.taken
  assert.equal((await service.submit(samplePurchase())).status, 202)
  assert.equal(service.server.app.shortRoad.taken, before)
})
