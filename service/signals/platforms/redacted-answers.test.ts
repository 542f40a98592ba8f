import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { sampleOutboundEvent } from '../../../testing/fixtures/sample-events.ts'
import { redactSecrets } from './client.ts'
import type { Platform, SendAnswer } from './platform.ts'
import {
  hasFreeText,
  redactSecretQuery,
  redactSentValues,
  withRedactedAnswers,
} from './registry.ts'

const DIGEST = hash('sha256', 'jane@example.com')
const EVENTS = [
  sampleOutboundEvent(),
  sampleOutboundEvent({
    digests: { em: [DIGEST], ge: [hash('sha256', 'f')] },
    plain: { client_user_agent: 'Mozilla "5.0"', client_ip_address: '81.2.69.160', lead_id: '4' },
  }),
]

function answerOf(message: string): SendAnswer {
  const error = {
    class: 'permanent' as const,
    code: 100,
    subcode: null,
    message,
    user_title: null,
    user_message: message,
    http_status: 400,
  }
  const answer = { error: { message, error_data: { blame: [message, 4] } } }
  return { outcome: 'permanent', waitSeconds: 0, httpStatus: 400, traceId: 't', answer, error }
}

it('redacts sent values everywhere and in any letter case', () => {
  const message = `4: ${DIGEST.toUpperCase()}, Mozilla "5.0" at 81.2.69.160, ${DIGEST}`
  const clean = '4: REDACTED, REDACTED at REDACTED, REDACTED'
  assert.deepEqual(redactSentValues(answerOf(message), EVENTS), answerOf(clean))
})

it('leaves all other text, members and numbers unchanged', () => {
  const answer = answerOf(`Invalid parameter ${hash('sha256', 'another person')}`)
  const sent = [...EVENTS, sampleOutboundEvent({ plain: { fb_login_id: 'message' } })]
  assert.deepEqual(redactSentValues(answer, sent), answer)
  const accepted = { ...answer, error: null, answer: { events_received: 2, messages: [] } }
  assert.equal(redactSentValues(accepted, EVENTS), accepted)
})

it('leaves no part of a value at the end of a truncated text', () => {
  const text = `${'too long '.repeat(51)}${DIGEST}`.slice(0, 500)
  const { error } = redactSentValues(answerOf(text), EVENTS)
  assert.equal(error?.message, 'too long '.repeat(51))
})

/** The message as it is kept when this was sent. */
function keptMessage(message: string, plain: Record<string, string>): string | undefined {
  return redactSentValues(answerOf(message), [sampleOutboundEvent({ plain })]).error?.message
}

it('redacts values of six characters and leaves shorter ones', () => {
  assert.equal(keptMessage('Invalid: value 12345.', { lead_id: '12345' }), 'Invalid: value 12345.')
  assert.equal(keptMessage('Invalid: 123456.', { lead_id: '123456' }), 'Invalid: REDACTED.')
})

it('redacts the longer of two values with a common prefix completely', () => {
  const plain = { lead_id: '123456', fb_login_id: '1234567890' }
  assert.equal(keptMessage('Ids 1234567890 and 123456.', plain), 'Ids REDACTED and REDACTED.')
})

it('removes the last word of a text of 500 characters, and of no shorter one', () => {
  const whole = `${'too long '.repeat(54)}the last word`
  assert.equal(whole.length, 499)
  assert.equal(keptMessage(whole, {}), whole)
  assert.equal(keptMessage(`${whole}s`, {}), whole.replace(/word$/, ''))
})

const ERROR = {
  class: 'unknown' as const,
  code: null,
  subcode: null,
  message: 'No answer came.',
  user_title: null,
  user_message: null,
  http_status: null,
}

function answered(answer: SendAnswer['answer'], error: SendAnswer['error'] = null): boolean {
  const frame = { waitSeconds: 0, httpStatus: 200, traceId: 'AbC' }
  return hasFreeText({ ...frame, outcome: error ? 'unknown' : 'accepted', answer, error })
}

it('finds no free text in a number of events, empty lists or no answer', () => {
  assert.equal(answered({ events_received: 1_000, messages: [] }), false)
  assert.equal(answered({ events_received: 1_000 }), false)
  assert.equal(answered({}), false)
  assert.equal(answered(null), false)
})

it('finds free text in every error', () => {
  assert.equal(answered(null, ERROR), true)
  assert.equal(answered({ events_received: 999 }, ERROR), true)
})

it('treats any other answer as free text', () => {
  const members: Record<string, unknown>[] = [
    { messages: ['jane@example.com is unknown'] },
    { messages: [[]] },
    { messages: 'jane@example.com is unknown' },
    { messages: { text: 'jane@example.com is unknown' } },
    { events_received: '81.2.69.160' },
    { events_received: { em: 'jane@example.com' } },
    { phone: 15_123_456_789 },
    { error: { message: 'Invalid parameter' } },
  ]
  for (const member of members) {
    const answer = { events_received: 2, messages: [], ...member }
    assert.equal(answered(answer), true, JSON.stringify(member))
  }
})

it('removes the secret members of the platform from a URL in an answer', () => {
  const url = 'https://platform.example/v3/1/events?access_token=hidden.token-1&test=true'
  const answer = answerOf(`No answer from ${url}`)
  const own = redactSecretQuery(answer, { secretQueryMembers: ['access_token'] })
  assert.ok(!JSON.stringify(own).includes('hidden'))
  assert.match(own.error?.message ?? '', /access_token=REDACTED&test=true$/)
  assert.deepEqual(redactSecretQuery(answer, {}), answer)
})

const TOKEN = 'EAAB/9f3c+7Zk2q.Lm8x_Wv4=T-6p"y1'

it('finds a secret in each encoding, at any place, and by its first characters', () => {
  const basic = Buffer.from(`client:${TOKEN}`).toString('base64')
  const texts = [
    TOKEN,
    `Malformed access token ${TOKEN.slice(0, 12)}...`,
    `...${TOKEN.slice(-12)} has expired`,
    `GET /v1/events?access_token=${encodeURIComponent(TOKEN)}`,
    `curl -H ${JSON.stringify(TOKEN)}`,
    Buffer.from(TOKEN).toString('base64'),
    Buffer.from(TOKEN).toString('base64url'),
    Buffer.from(TOKEN).toString('hex'),
    `Basic ${basic}`,
    `Basic ${Buffer.from(`a:${TOKEN}`).toString('base64')}`,
    `Basic ${Buffer.from(`ab:${TOKEN}`).toString('base64')}`,
  ]
  for (const text of texts) {
    const kept = JSON.stringify(redactSecrets({ [text]: [{ text }] }, [TOKEN]))
    for (const encoded of [TOKEN, encodeURIComponent(TOKEN), Buffer.from(TOKEN).toString('hex')]) {
      assert.ok(!kept.includes(encoded.slice(0, 12)), `${text}: ${kept}`)
    }
    assert.match(kept, /\[redacted\].*\[redacted\]/, text)
  }
  const long = 'x'.repeat(200)
  assert.equal(redactSecrets(`${long}${TOKEN}${long}`, [TOKEN]), `${long}[redacted]${long}`)
})

it('leaves everything else as it is, also names such as __proto__ and other prototypes', () => {
  const counts = Object.assign(Object.create(null), JSON.parse('{"__proto__": 1, "Lead": 2}'))
  const part = { at: new Date(0), counts, list: [null, 1, true, 'EAAB/9f3c+7', undefined] }
  const kept = redactSecrets(part, [TOKEN, '', 'short'])
  assert.deepEqual(kept, part)
  assert.equal(Object.getPrototypeOf(kept.counts), null)
  assert.equal(redactSecrets('short secret', ['short']), 'short secret')
})

it('redacts every answer of a platform', async () => {
  const leak = { note: TOKEN, members: { [TOKEN]: [TOKEN] } }
  const credentials = { target: {}, accessToken: TOKEN }
  const leaky = withRedactedAnswers({
    name: 'leaky',
    send: async () => ({ ...answerOf(TOKEN), traceId: `${TOKEN} ${DIGEST}` }),
    sendErasure: async () => answerOf(TOKEN),
    readReceipt: async () => leak,
    readDayCounts: async () => leak,
    readMatchQuality: async () => leak,
  } as unknown as Platform)
  const sent = await leaky.send({ ...credentials, testCode: null }, EVENTS)
  assert.equal(sent.traceId, '[redacted] REDACTED')
  const answers = [
    sent,
    await leaky.sendErasure?.(credentials, { id: 'e', digest: DIGEST, erasedAt: new Date(0) }),
    await leaky.readReceipt?.(credentials, 'receipt'),
    await leaky.readDayCounts(credentials, {} as never, 'server'),
    await leaky.readMatchQuality(credentials),
  ]
  for (const answer of answers) {
    const text = JSON.stringify(answer)
    assert.match(text, /redacted/)
    assert.ok(!text.includes(JSON.stringify(TOKEN).slice(1, 13)), text)
  }
})
