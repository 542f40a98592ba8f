import assert from 'node:assert/strict'
import { it } from 'node:test'
import { generateWebhookSecret, signWebhook } from './client.ts'

/** The example of the specification; standardwebhooks 1.1.1 (npm) computes the same. */
const EXAMPLE = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  at: new Date(1_614_265_330_000),
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}

it('signs as Standard Webhooks does', () => {
  const headers = signWebhook({ secret: EXAMPLE.secret, previous: null }, EXAMPLE)
  assert.deepEqual(headers, {
    'webhook-id': EXAMPLE.messageId,
    'webhook-timestamp': '1614265330',
    'webhook-signature': EXAMPLE.signature,
  })
})

it('adds the signature of the previous secret until its end', () => {
  const secret = generateWebhookSecret()
  const sign = (until: Date) =>
    signWebhook({ secret, previous: { secret: EXAMPLE.secret, until } }, EXAMPLE)
  const later = new Date(EXAMPLE.at.getTime() + 1)
  const both = sign(later)['webhook-signature']?.split(' ')
  assert.equal(both?.length, 2)
  assert.equal(both?.[1], EXAMPLE.signature)
  assert.equal(sign(EXAMPLE.at)['webhook-signature'], both?.[0])
})

it('generates secrets of 256 random bits', () => {
  const secrets = new Set(Array.from({ length: 20 }, generateWebhookSecret))
  assert.equal(secrets.size, 20)
  for (const secret of secrets) {
    assert.match(secret, /^whsec_/)
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
  }
})
