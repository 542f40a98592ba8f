import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizePhone } from '../../../service/signals/identity/normalize-phone.ts'
import { hashIdentifier } from '../../../service/signals/identity/normalize-user-data.ts'
import { phoneNumbers } from '../hash-texts.ts'
import { hash } from './src/sdk.ts'

it('digests the numbers of every country as the service does, or not at all', async () => {
  let digested = 0
  for (const text of phoneNumbers()) {
    const digest = await hash.phone(text)
    const normalized = normalizePhone(text, null)
    if (digest === null || normalized === null) continue
    digested += 1
    assert.equal(digest, hashIdentifier(normalized), text)
  }
  assert.ok(digested > 600, String(digested))
})
