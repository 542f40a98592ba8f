import assert from 'node:assert/strict'
import { it } from 'node:test'
import { getExampleNumber } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { normalizePhone } from '../../service/identity/normalize-phone.ts'
import { hashIdentifier } from '../../service/identity/normalize-user-data.ts'
import { hash } from './src/sdk.ts'

it('digests the numbers of every country as the service does, or not at all', async () => {
  const countries = Object.keys(examples) as Parameters<typeof getExampleNumber>[0][]
  let digested = 0
  for (const country of countries) {
    const number = getExampleNumber(country, examples)
    if (!number) continue
    const international = number.formatInternational()
    const trunk = `+${number.countryCallingCode} (0)${number.nationalNumber}`
    const dialed = `+${number.countryCallingCode} 0${number.nationalNumber}`
    for (const text of [international, number.number, `tel:${number.number}`, trunk, dialed]) {
      const digest = await hash.phone(text)
      const normalized = normalizePhone(text, null)
      if (digest === null || normalized === null) continue
      digested += 1
      assert.equal(digest, hashIdentifier(normalized), `${country} ${text}`)
    }
  }
  assert.ok(digested > 600, String(digested))
})
