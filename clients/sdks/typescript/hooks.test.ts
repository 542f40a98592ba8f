import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Hooks, Signalbox } from './src/sdk.ts'

const ERROR = new Error('The hook failed.')

function createClient(hooks: Hooks) {
  const client = { requests: 0 }
  const fetch = async () => {
    client.requests += 1
    return Response.json({}, { status: 503 })
  }
  const options = { token: 'token', baseUrl: 'http://signalbox.example/api/v1', fetch, hooks }
  return Object.assign(client, { events: new Signalbox(options).events })
}

for (const [hook, requests] of [
  ['onRequest', 0],
  ['onResponse', 1],
  ['onRetry', 1],
] as const) {
  it(`throws what ${hook} throws, and does not repeat the request`, async () => {
    const client = createClient({
      [hook]: () => {
        throw ERROR
      },
    })
    await assert.rejects(client.events.get('order-1'), error => error === ERROR)
    assert.equal(client.requests, requests)
  })
}

it('warns on the console of a duplicate that differs, unless a hook takes the warning', async test => {
  const warn = test.mock.method(console, 'warn', () => {})
  const notice = { code: 'differs_from_stored', field: 'event_id', message: 'Another event.' }
  const answer = { event_id: 'order-1', duplicate: true, notices: [notice] }
  const create = (hooks: Hooks) => {
    const fetch = async () => Response.json(answer)
    const client = new Signalbox({ token: 't', baseUrl: 'http://signalbox.example', fetch, hooks })
    return client.events.create({ event_name: 'Lead', consent_basis: 'consent' })
  }
  await create({})
  const lines = warn.mock.calls.map(call => call.arguments)
  assert.deepEqual(lines, [['Signalbox: order-1: Another event.']])
  const seen: string[] = []
  await create({ onWarning: ({ eventId, code }) => void seen.push(eventId, code) })
  assert.deepEqual([seen, warn.mock.callCount()], [['order-1', 'differs_from_stored'], 1])
})
