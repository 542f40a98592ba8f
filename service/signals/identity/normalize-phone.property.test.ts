import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { getCountries, parsePhoneNumberFromString as parseExactly } from 'libphonenumber-js/max'
import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import metadata from 'libphonenumber-js/min/metadata'
import examples from 'libphonenumber-js/mobile/examples'
import { normalizePhone } from './normalize-phone.ts'

const CALLING_CODES = [
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
]
const EXAMPLES = Object.entries(metadata.country_calling_codes).flatMap(([code, countries]) =>
  countries.map(country => `+${code}${examples[country]}`),
)

/** What the library alone says of a number in international form, without 00 behind the +. */
function askLibrary(number: string): string | null {
  const text = number.replace(/^\+[\s().-]*0[\s().-]*0[\s().-]*/, '+')
  const parsed = parsePhoneNumberFromString(text, { extract: false })
  const [, mexican] = /^\+?521(\d{10})$/.exec(text.replace(/[^\d+]/g, '')) ?? []
  if (mexican && !parsed?.isValid())
    return askLibrary(`+52${mexican}`)?.replace('52', '521') ?? null
  return parsed?.isValid() && parsed.ext === undefined ? parsed.number.slice(1) : null
}

it('reads an example of every country as the library does', () => {
  for (const example of EXAMPLES) {
    assert.equal(normalizePhone(example, null), askLibrary(example), example)
    assert.equal(normalizePhone(example, null), example.slice(1))
  }
})

const separator = fc.constantFrom('', '', '', ' ', '-', '.', ' (', ') ')
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 19 })
/** Wrong digits, digits too many or too few, and national prefixes, behind a real calling code. */
const nearlyNumber = fc.oneof(
  fc
    .tuple(fc.constantFrom(...CALLING_CODES), fc.constantFrom('', '', '0', '00', '1', '8'), digits)
    .map(([code, prefix, rest]) => `+${code}${prefix}${rest}`),
  fc
    .tuple(
      fc.constantFrom(...EXAMPLES),
      fc.nat(14),
      digits.map(text => text.slice(0, 2)),
    )
    .map(([example, at, insert]) => example.slice(0, 2 + at) + insert + example.slice(3 + at)),
  digits.map(text => `+${text}`),
)
const written = fc
  .tuple(nearlyNumber, fc.array(separator, { minLength: 24, maxLength: 24 }))
  .map(([number, separators]) =>
    [...number]
      .map((character, at) => character + (at === 0 ? '' : (separators[at] ?? '')))
      .join(''),
  )

for (const seed of [1, 2]) {
  it(`decides every international number as the library does (seed ${seed})`, () => {
    fc.assert(
      fc.property(written, number => {
        if (number.length > 64) return
        assert.equal(normalizePhone(number, null), askLibrary(number.trim()))
        assert.equal(normalizePhone(number, 'de'), askLibrary(number.trim()))
      }),
      { seed, numRuns: 20_000 },
    )
  })
}

/** The regions whose numbering plan reads these digits, by the number that they read. */
function readByRegions(bare: string): Map<string, string[]> {
  const readings = new Map<string, string[]>()
  for (const defaultCountry of getCountries()) {
    const parsed = parseExactly(bare, { extract: false, defaultCountry })
    if (!parsed?.isValid()) continue
    readings.set(parsed.number, [...(readings.get(parsed.number) ?? []), defaultCountry])
  }
  return readings
}

it('drops a bare number of up to ten digits, which several plans read in different ways', () => {
  const counted = { 4792813113: 35, 3227352263: 13 }
  for (const [bare, regions] of Object.entries(counted)) {
    assert.equal([...readByRegions(bare).values()].flat().length, regions, bare)
    assert.equal(normalizePhone(bare, null), null)
  }
  const bareNumber = fc
    .tuple(fc.constantFrom(...EXAMPLES), fc.array(fc.nat(9), { minLength: 10, maxLength: 10 }))
    .map(([example, random]) => example.slice(1, 5) + random.slice(0, example.length - 5).join(''))
    .filter(bare => bare.length <= 10 && parseExactly(`+${bare}`)?.isValid() === true)
  const property = fc.property(bareNumber, bare => {
    const others = [...readByRegions(bare).keys()].filter(number => number !== `+${bare}`)
    assert.ok(others.length > 0, bare)
    assert.equal(normalizePhone(bare, null), null)
  })
  fc.assert(property, { seed: 1, numRuns: 150 })
})

it('reads a bare number of a country by the plan of that country', () => {
  assert.equal(normalizePhone('4792813113', 'no'), '4792813113')
  assert.equal(normalizePhone('4792813113', 'us'), '14792813113')
  assert.equal(normalizePhone('3227352263', 'be'), '3227352263')
})
