import assert from 'node:assert/strict'
import { request } from 'node:http'
import { it } from 'node:test'
import type { FaultRule } from './fault-rules.ts'
import { SAMPLE_NOW, sampleEvent, samplePurchase } from './sample-event.ts'
import { type SimulatorUnderTest, simulatorUnderTest } from './simulator-under-test.ts'

it('returns a Graph error with exactly the members of the rule and stores nothing', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, {
    respond: {
      status: 400,
      code: 190,
      subcode: 463,
      message: 'Session has expired',
      is_transient: true,
      user_title: 'Title',
      user_msg: 'Text',
    },
  })
  const reply = await simulator.send({ data: [sampleEvent()] })
  assert.equal(reply.status, 400)
  const { fbtrace_id, ...error } = reply.body.error
  assert.deepEqual(error, {
    message: 'Session has expired',
    type: 'OAuthException',
    code: 190,
    error_subcode: 463,
    is_transient: true,
    error_user_title: 'Title',
    error_user_msg: 'Text',
  })
  assert.equal(reply.headers.get('x-fb-trace-id'), fbtrace_id)
  assert.equal((await simulator.control('GET', 'received')).body.count, 0)
  assert.equal((await simulator.control('GET', 'summary')).body.refused_requests, 1)
})

it('omits from the error body what the rule omits', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { respond: { status: 503 } })
  const { status, body } = await simulator.send({ data: [sampleEvent()] })
  assert.equal(status, 503)
  assert.deepEqual(Object.keys(body.error), ['message', 'type', 'code', 'fbtrace_id'])
  assert.equal(body.error.code, 1)
})

it('returns raw text and headers, such as throttling or a proxy page', async test => {
  const simulator = await simulatorUnderTest(test)
  const usage = '{"call_count":100,"total_time":25,"total_cputime":25}'
  await script(simulator, {
    respond: {
      status: 502,
      body: '<html>Bad Gateway</html>',
      headers: { 'X-App-Usage': usage, 'Content-Type': 'text/html', 'Retry-After': '7' },
    },
  })
  const reply = await simulator.send({ data: [sampleEvent()] })
  assert.equal(reply.text, '<html>Bad Gateway</html>')
  assert.equal(reply.headers.get('content-type'), 'text/html')
  assert.equal(reply.headers.get('x-app-usage'), usage)
  assert.equal(reply.headers.get('retry-after'), '7')
})

it('returns a scripted 204 without a body and reuses the connection', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { times: 1, respond: { status: 204 } })
  assert.equal((await simulator.send({ data: [sampleEvent()] })).text, '')
  assert.deepEqual(await statuses(simulator, 1), [200])
})

it('fires at most as often as the rule allows, and counts', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { times: 2, respond: { status: 500, code: 2 } })
  assert.deepEqual(await statuses(simulator, 4), [500, 500, 200, 200])
  const { body } = await simulator.control('GET', 'faults')
  assert.deepEqual(body.rules, [{ times: 2, respond: { status: 500, code: 2 }, fired: 2 }])
})

it('fires only for the dataset, event and kind of traffic of the rule', async test => {
  const simulator = await simulatorUnderTest(test)
  const view = { data: [sampleEvent({ event_id: 'v' })] }
  const both = { data: [sampleEvent({ event_id: 'v' }), samplePurchase({ event_id: 'p' })] }
  const asTest = { ...view, test_event_code: 'TEST1' }
  const statusOf = async (body: unknown) => (await simulator.send(body)).status
  const cases: [NonNullable<FaultRule['match']>, number[]][] = [
    [{ dataset: '1234' }, [500, 500, 500]],
    [{ dataset: '9' }, [200, 200, 200]],
    [{ event_name: 'Purchase' }, [200, 500, 200]],
    [{ event_id: 'v' }, [500, 500, 500]],
    [{ event_name: 'Purchase', event_id: 'v' }, [200, 200, 200]],
    [{ test: true }, [200, 200, 500]],
    [{ test: false }, [500, 500, 200]],
  ]
  for (const [match, expected] of cases) {
    await script(simulator, { match, respond: { status: 500 } })
    const found = [await statusOf(view), await statusOf(both), await statusOf(asTest)]
    assert.deepEqual(found, expected, JSON.stringify(match))
  }
})

it('fires only between from and until', async test => {
  const simulator = await simulatorUnderTest(test)
  const from = new Date(SAMPLE_NOW.getTime() + 60_000).toISOString()
  const until = new Date(SAMPLE_NOW.getTime() + 120_000).toISOString()
  await script(simulator, { match: { from, until }, respond: { status: 500 } })
  const found: number[] = []
  for (const seconds of [0, 59, 1, 59, 1]) {
    simulator.advance(seconds)
    found.push(...(await statuses(simulator, 1)))
  }
  assert.deepEqual(found, [200, 200, 500, 500, 200])
})

it('fires with a probability, and the same seed repeats the same requests', async test => {
  const simulator = await simulatorUnderTest(test)
  const rule = (seed: number) => ({ probability: 0.3, seed, respond: { status: 500 } })
  const runs: number[][] = []
  for (const seed of [7, 7, 8]) {
    await script(simulator, rule(seed))
    runs.push(await statuses(simulator, 200))
  }
  assert.deepEqual(runs[0], runs[1])
  assert.notDeepEqual(runs[0], runs[2])
  const hits = runs[0]?.filter(status => status === 500).length ?? 0
  assert.ok(hits > 35 && hits < 85, `${hits} of 200`)
})

it('never fires with probability 0 and always with 1', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { probability: 0, respond: { status: 500 } })
  assert.ok((await statuses(simulator, 50)).every(status => status === 200))
  await script(simulator, { probability: 1, respond: { status: 500 } })
  assert.ok((await statuses(simulator, 50)).every(status => status === 500))
})

it('applies the first matching rule, and the next once its times are used up', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(
    simulator,
    { match: { dataset: '9' }, respond: { status: 504 } },
    { times: 1, respond: { status: 500 } },
    { respond: { status: 503 } },
  )
  assert.deepEqual(await statuses(simulator, 3), [500, 503, 503])
})

it('stores a delayed event on arrival and responds later', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { delay_ms: 1_000 })
  let answered = false
  const sending = simulator.send({ data: [sampleEvent()] }).then(reply => {
    answered = true
    return reply
  })
  while ((await simulator.control('GET', 'received')).body.count === 0) assert.ok(!answered)
  assert.equal(answered, false)
  assert.equal((await sending).status, 200)
})

it('closes the connection before the events are stored', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { times: 1, abort: 'before_response' })
  await assert.rejects(simulator.send({ data: [sampleEvent()] }))
  assert.equal((await simulator.control('GET', 'received')).body.count, 0)
  assert.deepEqual(await statuses(simulator, 1), [200])
})

it('closes the connection after the events are stored', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { times: 1, abort: 'after_store' })
  await assert.rejects(simulator.send({ data: [sampleEvent()] }))
  assert.equal((await simulator.control('GET', 'received')).body.count, 1)
  assert.deepEqual(await statuses(simulator, 1), [200])
})

it('truncates the response below its content-length', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const truncate of [0, 10]) {
    await script(simulator, { truncate })
    const cut = await rawAnswer(simulator)
    assert.equal(cut.bytes, truncate)
    assert.ok(cut.announced > truncate)
    assert.equal(cut.complete, false)
  }
  assert.equal((await simulator.control('GET', 'received')).body.count, 2)
})

it('does not truncate a shorter response', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { truncate: 100_000 })
  assert.equal((await rawAnswer(simulator)).complete, true)
})

it('fires before token and event validation, like an outage', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { respond: { status: 503, code: 2 } })
  const headers = { 'content-type': 'application/json' }
  assert.equal((await simulator.send('{', { headers })).status, 503)
})

it('replaces the rules on POST and clears them on DELETE', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { respond: { status: 500 } })
  const replaced = await script(simulator, { respond: { status: 503 } })
  assert.deepEqual(replaced.body, { rules: [{ respond: { status: 503 }, fired: 0 }] })
  assert.deepEqual(await statuses(simulator, 1), [503])
  assert.deepEqual((await simulator.control('DELETE', 'faults')).body, { rules: [] })
  assert.deepEqual(await statuses(simulator, 1), [200])
})

it('stops while a response is delayed', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { delay_ms: 600_000 })
  const sending = assert.rejects(simulator.send({ data: [sampleEvent()] }))
  while ((await simulator.control('GET', 'received')).body.count === 0);
  await simulator.close()
  await sending
})

function script(simulator: SimulatorUnderTest, ...rules: FaultRule[]) {
  return simulator.control('POST', 'faults', { rules })
}

async function statuses(simulator: SimulatorUnderTest, requests: number): Promise<number[]> {
  const found: number[] = []
  for (let index = 0; index < requests; index++)
    found.push((await simulator.send({ data: [sampleEvent()] })).status)
  return found
}

interface RawAnswer {
  bytes: number
  announced: number
  complete: boolean
}

/** Reads a response with node:http, which shows how much of a truncated body arrived. */
function rawAnswer({ url }: SimulatorUnderTest): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer token-a', 'content-type': 'application/json' }
    const sent = request(`${url}/v26.0/1/events`, { method: 'POST', headers }, response => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      // The test expects a truncated body; 'close' follows with the part that arrived.
      response.on('error', () => undefined)
      response.on('close', () => {
        const announced = Number(response.headers['content-length'])
        resolve({ bytes, announced, complete: response.complete })
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify({ data: [sampleEvent()] }))
  })
}
