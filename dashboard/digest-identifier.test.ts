import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import fc from 'fast-check'
import { normalizeMetaUserData } from '../testing/fixtures/meta-identity.ts'
import { chooseSeeds } from '../testing/fixtures/seeded-random.ts'
import { digestIdentifier, type IdentifierType } from './src/privacy/digest-identifier.ts'

const KEYS: Record<IdentifierType, 'em' | 'ph' | 'external_id'> = {
  email: 'em',
  phone: 'ph',
  external_id: 'external_id',
}
const TYPES = Object.keys(KEYS) as IdentifierType[]

interface Vector {
  field: string
  input: string
}

const vectors: Vector[] = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '../service/signals/platforms/meta/vectors/meta-hash-vectors.json'),
    'utf8',
  ),
)

/** The digest that the service stores for an event with this identifier; null when it drops it. */
function digestOfService(type: IdentifierType, text: string, country: string): string | null {
  const place = country === '' ? {} : { country }
  const { digests } = normalizeMetaUserData({ [KEYS[type]]: text, ...place })
  return digests[KEYS[type]]?.[0] ?? null
}

async function digestOfBrowser(type: IdentifierType, text: string, country: string) {
  return (await digestIdentifier({ type, text, country })).digest
}

it("computes the service's digest of every vector of the service", async () => {
  let compared = 0
  for (const type of TYPES) {
    for (const { input } of vectors.filter(({ field }) => field === KEYS[type])) {
      const expected = digestOfService(type, String(input), '')
      assert.equal(await digestOfBrowser(type, String(input), ''), expected, `${type} ${input}`)
      compared += 1
    }
  }
  assert.ok(compared > 20, `${compared} vectors`)
})

it("computes the service's digest of any text, or none where the service drops it", async () => {
  const text = fc.oneof(
    fc.emailAddress(),
    fc.stringMatching(/^[+0]?[\d ().-]{6,18}$/),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom(
      'null',
      ' N/A ',
      '0',
      '',
      ' ',
      'JÖRG@BÜCHER.de',
      '＋４９ 30 901820',
      'tel:+4930901820',
    ),
    fc.stringMatching(/^[0-9A-Fa-f]{32}$|^[0-9A-Fa-f]{64}$/),
  )
  const country = fc.constantFrom('', 'de', 'US', 'gb', 'mx')
  const property = fc.asyncProperty(
    fc.constantFrom(...TYPES),
    text,
    country,
    async (type, typed, place) => {
      const expected = digestOfService(type, typed, place)
      assert.equal(await digestOfBrowser(type, typed, place), expected)
    },
  )
  for (const seed of chooseSeeds([1, 2, 3])) await fc.assert(property, { seed, numRuns: 300 })
})

it('says what is wrong with an identifier, and takes a SHA-256 as it is', async () => {
  const wrong = await digestIdentifier({ type: 'email', text: 'jane', country: '' })
  assert.match(wrong.problem ?? '', /^Enter one email address/)
  const digest = 'AB'.repeat(32)
  assert.deepEqual(await digestIdentifier({ type: 'email', text: ` ${digest} `, country: '' }), {
    digest: digest.toLowerCase(),
    others: [],
    normalized: null,
    problem: null,
  })
})

it('computes the digests of other forms, which earlier versions and other programs have', async () => {
  const othersOf = async (type: IdentifierType, text: string) => {
    const computed = await digestIdentifier({ type, text, country: '' })
    return computed.digest === null ? null : computed.others
  }
  assert.deepEqual(await othersOf('phone', '+49 30 901820'), [sha256('+4930901820')])
  assert.deepEqual(await othersOf('external_id', 'User 42'), [sha256('user 42')])
  assert.deepEqual(await othersOf('email', 'Jane.Doe@gmail.com'), [sha256('janedoe@gmail.com')])
  assert.deepEqual(await othersOf('email', 'jane.doe@example.com'), [])
})

const sha256 = (text: string) => hash('sha256', text)
