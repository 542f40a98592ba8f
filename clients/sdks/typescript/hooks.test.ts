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
