import assert from 'node:assert/strict'
import { it } from 'node:test'
import { noAnswer } from '../client.ts'
import { type MetaResponse, readMetaAnswer } from './client.ts'

function response(
  status: number,
  body: unknown,
  changes: Partial<MetaResponse> = {},
): MetaResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, body: text, waitSeconds: 0, traceId: null, ...changes }
}

it('returns accepted when every sent event was received', () => {
  const body = { events_received: 3, messages: ['a note'], fbtrace_id: 'AbC_1' }
  assert.deepEqual(readMetaAnswer(response(200, body), 3), {
    outcome: 'accepted',
    waitSeconds: 0,
    httpStatus: 200,
    traceId: 'AbC_1',
    answer: { events_received: 3, messages: ['a note'] },
    error: null,
  })
})

it('keeps the complete error, with its messages for people and its codes', () => {
  const error = {
    message: 'Invalid parameter',
    type: 'OAuthException',
    code: 100,
    error_subcode: 2_804_003,
    is_transient: false,
    error_user_title: 'Événement trop ancien',
    error_user_msg: "L'horodatage est trop ancien.",
    fbtrace_id: 'AbC_2',
    error_data: { blame_field_specs: [['custom_data', 'currency']] },
    something_new: 'left out',
  }
  const { something_new: _, ...kept } = error
  assert.deepEqual(readMetaAnswer(response(400, { error }), 1), {
    outcome: 'permanent',
    waitSeconds: 0,
    httpStatus: 400,
    traceId: 'AbC_2',
    answer: { error: kept },
    error: {
      class: 'permanent',
      code: 100,
      subcode: 2_804_003,
      message: 'Invalid parameter',
      user_title: 'Événement trop ancien',
      user_message: "L'horodatage est trop ancien.",
      http_status: 400,
    },
  })
})

it('uses the error code rather than the HTTP status', () => {
  const error = { message: 'm', type: 'OAuthException', code: 2, fbtrace_id: 'x' }
  for (const status of [200, 400, 403, 429, 500, 503]) {
    assert.equal(readMetaAnswer(response(status, { error }), 1).outcome, 'retry')
  }
})

it('does not treat an HTTP status alone as success', () => {
  const body = { events_received: 1, messages: [], fbtrace_id: 'x' }
  for (const status of [201, 204, 302, 400, 500]) {
    assert.equal(readMetaAnswer(response(status, body), 1).outcome, 'unknown')
  }
})

const UNREADABLE: Record<string, [status: number, body: string]> = {
  'an HTML page of a proxy': [502, '<html><body>Bad Gateway</body></html>'],
  'an empty body': [200, ''],
  'a truncated body': [200, '{"events_received":1,"mess'],
  'an array': [200, '[{"events_received":1}]'],
  null: [200, 'null'],
  'a number': [200, '1'],
  'an empty object': [200, '{}'],
  'an error that is a string': [400, '{"error":"invalid_request"}'],
}

for (const [what, [status, body]] of Object.entries(UNREADABLE)) {
  it(`returns an unknown outcome for ${what}`, () => {
    assert.deepEqual(readMetaAnswer(response(status, body), 1), {
      outcome: 'unknown',
      waitSeconds: 0,
      httpStatus: status,
      traceId: null,
      answer: null,
      error: {
        class: 'unknown',
        code: null,
        subcode: null,
        message: `The platform answered HTTP ${status} without a readable body.`,
        user_title: null,
        user_message: null,
        http_status: status,
      },
    })
  })
}

it('returns permanent when a proxy rejects the body as too large', () => {
  const answer = readMetaAnswer(response(413, '<html>Request Entity Too Large</html>'), 1_000)
  assert.deepEqual([answer.outcome, answer.error?.class], ['permanent', 'permanent'])
})

it('returns throttle for HTTP 429 without an error code', () => {
  const bodies = ['<html>Too Many Requests</html>', '', '{"message":"slow down"}', '{"error":"x"}']
  const nameless = JSON.stringify({ error: { message: 'Slow down', type: 'OAuthException' } })
  for (const body of [...bodies, nameless]) {
    const waitOf = (waitSeconds: number) => readMetaAnswer(response(429, body, { waitSeconds }), 1)
    assert.deepEqual([waitOf(0).outcome, waitOf(0).error?.class], ['throttle', 'throttle'])
    assert.deepEqual([waitOf(0).waitSeconds, waitOf(7).waitSeconds], [60, 60])
    assert.equal(waitOf(120).waitSeconds, 120)
  }
})

it('honors Retry-After of an unreadable response, with an unknown outcome', () => {
  for (const status of [200, 302, 500, 502, 503]) {
    const answer = readMetaAnswer(response(status, '<html></html>', { waitSeconds: 120 }), 1)
    assert.deepEqual([answer.outcome, answer.waitSeconds], ['unknown', 120])
  }
})

it('returns an unknown outcome when fewer or more events were received than sent', () => {
  for (const received of [0, 1, 3, '2', null, [2]]) {
    const body = { events_received: received, messages: [], fbtrace_id: 'x' }
    const answer = readMetaAnswer(response(200, body), 2)
    assert.equal(answer.outcome, 'unknown')
    assert.equal(
      answer.error?.message,
      `The platform reports ${JSON.stringify(received)} events received, not as many as sent.`,
    )
    assert.deepEqual(answer.answer, { events_received: received })
  }
})

it('returns an unknown outcome for an error without an integer code', () => {
  for (const code of [undefined, null, '190', 1.5, {}]) {
    const answer = readMetaAnswer(response(400, { error: { message: 'm', code } }), 1)
    assert.equal(answer.outcome, 'unknown')
    assert.equal(answer.error?.code, null)
  }
})

it('uses the longer of the waits that the headers and the code ask for', () => {
  const throttled = { error: { message: 'm', code: 4 } }
  const waitOf = (body: unknown, waitSeconds: number) =>
    readMetaAnswer(response(400, body, { waitSeconds }), 1).waitSeconds
  assert.equal(waitOf(throttled, 0), 60)
  assert.equal(waitOf(throttled, 1_140), 1_140)
  assert.equal(waitOf({ error: { message: 'm', code: 2 } }, 120), 120)
  assert.equal(waitOf({ error: { message: 'm', code: 190 } }, 0), 0)
})

it('returns the requested wait when the platform accepts and asks to slow down', () => {
  const body = { events_received: 1, messages: [], fbtrace_id: 'x' }
  const answer = readMetaAnswer(response(200, body, { waitSeconds: 10 }), 1)
  assert.deepEqual([answer.outcome, answer.waitSeconds], ['accepted', 10])
})

it('reads the trace ID from the headers when the body has no valid one', () => {
  const traceOf = (fbtrace_id: unknown) => {
    const body = { error: { message: 'm', code: 2, fbtrace_id } }
    return readMetaAnswer(response(500, body, { traceId: 'header-trace' }), 1).traceId
  }
  assert.equal(traceOf('body-trace'), 'body-trace')
  for (const odd of [undefined, null, 7, '', 'nul \0 inside', 'two words', 'Ünicode']) {
    assert.equal(traceOf(odd), 'header-trace')
  }
})

it('truncates long texts', () => {
  const long = 'x'.repeat(10_000)
  const error = { message: long, code: 100, error_user_msg: long, fbtrace_id: long }
  const answer = readMetaAnswer(response(400, { error }), 1)
  assert.equal(answer.error?.message.length, 500)
  assert.equal(answer.error?.user_message?.length, 500)
  assert.equal(answer.traceId?.length, 500)
  assert.ok(JSON.stringify(answer.answer).length < 2_000)
})

it('returns a reason even when the platform gives none', () => {
  for (const message of [undefined, '', 7]) {
    const { error } = readMetaAnswer(response(400, { error: { code: 100, message } }), 1)
    assert.equal(error?.message, 'The platform gave no reason.')
  }
})

it('describes a missing response', () => {
  assert.deepEqual(noAnswer('retry', 'Connection refused.'), {
    outcome: 'retry',
    waitSeconds: 0,
    httpStatus: null,
    traceId: null,
    answer: null,
    error: {
      class: 'retry',
      code: null,
      subcode: null,
      message: 'Connection refused.',
      user_title: null,
      user_message: null,
      http_status: null,
    },
  })
})
