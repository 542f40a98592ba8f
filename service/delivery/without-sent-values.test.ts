import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { outboundEvent } from '../../testing/outbound-event.ts'
import type { SendAnswer } from '../platforms/send-outcome.ts'
import { withoutSentValues } from './without-sent-values.ts'

const DIGEST = hash('sha256', 'jane@example.com')
const EVENTS = [
  outboundEvent(),
  outboundEvent({
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

it('takes out what was sent, wherever the platform repeats it and in any case', () => {
  const message = `4: ${DIGEST.toUpperCase()}, Mozilla "5.0" at 81.2.69.160, ${DIGEST}`
  const clean = '4: REDACTED, REDACTED at REDACTED, REDACTED'
  assert.deepEqual(withoutSentValues(answerOf(message), EVENTS), answerOf(clean))
})

it('leaves all other words as they are, members and numbers too', () => {
  const answer = answerOf(`Invalid parameter ${hash('sha256', 'somebody else')}`)
  const sent = [...EVENTS, outboundEvent({ plain: { fb_login_id: 'message' } })]
  assert.deepEqual(withoutSentValues(answer, sent), answer)
  const accepted = { ...answer, error: null, answer: { events_received: 2, messages: [] } }
  assert.equal(withoutSentValues(accepted, EVENTS), accepted)
})

it('leaves no part of a value where a long text was cut', () => {
  const text = `${'too long '.repeat(51)}${DIGEST}`.slice(0, 500)
  const { error } = withoutSentValues(answerOf(text), EVENTS)
  assert.equal(error?.message, 'too long '.repeat(51))
})
