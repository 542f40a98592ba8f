import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type MetaResponse, readMetaAnswer } from './client.ts'
import { noAnswer } from './graph-api.ts'

function response(
  status: number,
  body: unknown,
  changes: Partial<MetaResponse> = {},
): MetaResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, body: text, waitSeconds: 0, traceId: null, ...changes }
}

it('reads an acceptance of all that was sent', () => {
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

it('keeps the whole refusal, with the words for a person beside those for a machine', () => {
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

it('believes the error and not the HTTP status', () => {
  const error = { message: 'm', type: 'OAuthException', code: 2, fbtrace_id: 'x' }
  for (const status of [200, 400, 403, 429, 500, 503]) {
    assert.equal(readMetaAnswer(response(status, { error }), 1).outcome, 'retry')
  }
})

it('takes no HTTP status alone for success', () => {
  const body = { events_received: 1, messages: [], fbtrace_id: 'x' }
  for (const status of [201, 204, 302, 400, 500]) {
    assert.equal(readMetaAnswer(response(status, body), 1).outcome, 'unknown')
  }
})

const UNREADABLE: Record<string, [status: number, body: string]> = {
  'a page of a proxy': [502, '<html><body>Bad Gateway</body></html>'],
  'an empty body': [200, ''],
  'a cut body': [200, '{"events_received":1,"mess'],
  'a list': [200, '[{"events_received":1}]'],
  'a bare null': [200, 'null'],
  'a bare number': [200, '1'],
  'an object that says nothing': [200, '{}'],
  'an error that is only text': [400, '{"error":"invalid_request"}'],
}

for (const [what, [status, body]] of Object.entries(UNREADABLE)) {
  it(`calls the outcome unknown after ${what}`, () => {
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

it('takes a body that is too large for whoever is in between for a refusal of its content', () => {
  const answer = readMetaAnswer(response(413, '<html>Request Entity Too Large</html>'), 1_000)
  assert.deepEqual([answer.outcome, answer.error?.class], ['permanent', 'permanent'])
})

it('takes HTTP 429 for too many requests where no code says what it is', () => {
  const bodies = ['<html>Too Many Requests</html>', '', '{"message":"slow down"}', '{"error":"x"}']
  const nameless = JSON.stringify({ error: { message: 'Slow down', type: 'OAuthException' } })
  for (const body of [...bodies, nameless]) {
    const waitOf = (waitSeconds: number) => readMetaAnswer(response(429, body, { waitSeconds }), 1)
    assert.deepEqual([waitOf(0).outcome, waitOf(0).error?.class], ['throttle', 'throttle'])
    assert.deepEqual([waitOf(0).waitSeconds, waitOf(7).waitSeconds], [60, 60])
    assert.equal(waitOf(120).waitSeconds, 120)
  }
})

it('waits as long as an unreadable answer asks, and still does not know what became of it', () => {
  for (const status of [200, 302, 500, 502, 503]) {
    const answer = readMetaAnswer(response(status, '<html></html>', { waitSeconds: 120 }), 1)
    assert.deepEqual([answer.outcome, answer.waitSeconds], ['unknown', 120])
  }
})

it('calls the outcome unknown when fewer or more events were received than sent', () => {
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

it('calls an error without a whole code unknown', () => {
  for (const code of [undefined, null, '190', 1.5, {}]) {
    const answer = readMetaAnswer(response(400, { error: { message: 'm', code } }), 1)
    assert.equal(answer.outcome, 'unknown')
    assert.equal(answer.error?.code, null)
  }
})

it('waits as long as the headers ask, or as the code asks, whichever is longer', () => {
  const throttled = { error: { message: 'm', code: 4 } }
  const waitOf = (body: unknown, waitSeconds: number) =>
    readMetaAnswer(response(400, body, { waitSeconds }), 1).waitSeconds
  assert.equal(waitOf(throttled, 0), 60)
  assert.equal(waitOf(throttled, 1_140), 1_140)
  assert.equal(waitOf({ error: { message: 'm', code: 2 } }, 120), 120)
  assert.equal(waitOf({ error: { message: 'm', code: 190 } }, 0), 0)
})

it('hands the pace on when the platform accepts and asks to slow down', () => {
  const body = { events_received: 1, messages: [], fbtrace_id: 'x' }
  const answer = readMetaAnswer(response(200, body, { waitSeconds: 10 }), 1)
  assert.deepEqual([answer.outcome, answer.waitSeconds], ['accepted', 10])
})

it('takes the trace id from the headers when the body names none that can be kept', () => {
  const traceOf = (fbtrace_id: unknown) => {
    const body = { error: { message: 'm', code: 2, fbtrace_id } }
    return readMetaAnswer(response(500, body, { traceId: 'header-trace' }), 1).traceId
  }
  assert.equal(traceOf('body-trace'), 'body-trace')
  for (const odd of [undefined, null, 7, '', 'nul \0 inside', 'two words', 'Ünicode']) {
    assert.equal(traceOf(odd), 'header-trace')
  }
})

it('cuts texts of any length down to what may be kept', () => {
  const long = 'x'.repeat(10_000)
  const error = { message: long, code: 100, error_user_msg: long, fbtrace_id: long }
  const answer = readMetaAnswer(response(400, { error }), 1)
  assert.equal(answer.error?.message.length, 500)
  assert.equal(answer.error?.user_message?.length, 500)
  assert.equal(answer.traceId?.length, 500)
  assert.ok(JSON.stringify(answer.answer).length < 2_000)
})

it('gives a reason even when the platform gives none', () => {
  for (const message of [undefined, '', 7]) {
    const { error } = readMetaAnswer(response(400, { error: { code: 100, message } }), 1)
    assert.equal(error?.message, 'The platform gave no reason.')
  }
})

it('describes an answer that never came', () => {
  assert.deepEqual(noAnswer('retry', 'Nobody there.'), {
    outcome: 'retry',
    waitSeconds: 0,
    httpStatus: null,
    traceId: null,
    answer: null,
    error: {
      class: 'retry',
      code: null,
      subcode: null,
      message: 'Nobody there.',
      user_title: null,
      user_message: null,
      http_status: null,
    },
  })
})
