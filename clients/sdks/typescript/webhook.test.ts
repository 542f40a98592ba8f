import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { InvalidArgumentError, verifyWebhook, WebhookVerificationError } from './src/sdk.ts'

interface WebhookVector {
  title: string
  secrets: string[]
  /** Unix seconds. */
  now: number
  headers: Record<string, string>
  body: string
  verified: boolean
}

const vectors: WebhookVector[] = JSON.parse(
  readFileSync(join(import.meta.dirname, '../webhook-vectors.json'), 'utf8'),
)

for (const { title, secrets, now, headers, body, verified } of vectors) {
  it(`webhook: ${title}`, async () => {
    const request = { body, headers, secret: secrets, now: new Date(now * 1_000) }
    const bytes = {
      ...request,
      body: new TextEncoder().encode(body),
      headers: new Headers(headers),
    }
    for (const one of [request, bytes]) {
      if (verified) assert.deepEqual(await verifyWebhook(one), JSON.parse(body))
      else await assert.rejects(verifyWebhook(one), WebhookVerificationError)
    }
  })
}

it('webhook: computes the published signature of Standard Webhooks', async () => {
  const [published] = vectors
  assert.ok(published)
  const { secrets, now, headers, body } = published
  const request = { body, headers, secret: secrets, now: new Date(now * 1_000) }
  await assert.rejects(verifyWebhook(request), /the body is no message/)
})

it('webhook: refuses a secret of another form without repeating it', async () => {
  const [, genuine] = vectors
  assert.ok(genuine)
  const { now, headers, body } = genuine
  for (const secret of ['', 'the-secret', 'whsec_', 'whsec_!!!!!!!!!!!!!!!!!!!!']) {
    const request = { body, headers, secret, now: new Date(now * 1_000) }
    await assert.rejects(verifyWebhook(request), error => {
      assert.ok(error instanceof InvalidArgumentError)
      assert.ok(secret === '' || !error.message.includes(secret) || secret === 'whsec_')
      return true
    })
  }
})
