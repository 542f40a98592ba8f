import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizePhone } from './normalize-phone.ts'

it('gives national numbers the code of their country', () => {
  assert.equal(normalizePhone('(650)555-1212', 'us'), '16505551212')
  assert.equal(normalizePhone('0612345678', 'fr'), '33612345678')
  assert.equal(normalizePhone('0044 20 7946 0958', 'fr'), '442079460958')
  assert.equal(normalizePhone('011441234567890', 'us'), '441234567890')
})

it('believes the + over the country', () => {
  assert.equal(normalizePhone('+16505551212', 'fr'), '16505551212')
})

it('reads a whole international number without + even when the country is another', () => {
  assert.equal(normalizePhone('33612345678', 'us'), '33612345678')
  assert.equal(normalizePhone('16505551212', 'gb'), '16505551212')
})

it('reads 00 as + when no country says otherwise', () => {
  assert.equal(normalizePhone('0044 20 7946 0958', null), '442079460958')
})

it('reads 00 and 001 after + as + alone', () => {
  for (const [number, digits] of [
    ['+001 (616) 954-78 88', '16169547888'],
    ['+0044 20 7946 0958', '442079460958'],
    ['+00 49 30 901820', '4930901820'],
    ['001 (616) 954-78 88', '16169547888'],
  ] as const) {
    for (const country of [null, 'us', 'fr']) assert.equal(normalizePhone(number, country), digits)
  }
  assert.equal(normalizePhone('+0612345678', 'fr'), null)
})

it('reads full-width digits and signs', () => {
  const wide = '＋８１ ９０－１２３４－５６７８'
  assert.equal(normalizePhone(wide, null), '819012345678')
  assert.equal(normalizePhone('＋81 90-1234-5678', null), '819012345678')
  assert.equal(normalizePhone('０９０（１２３４）５６７８', 'jp'), '819012345678')
})

it('keeps the 1 of Mexican mobile numbers, as they were written until 2019', () => {
  for (const number of ['+52 1 55 1234 5678', '0052 1 55 1234 5678', '5215512345678']) {
    for (const country of [null, 'mx', 'us'])
      assert.equal(normalizePhone(number, country), '5215512345678', number)
  }
  assert.equal(normalizePhone('+52 55 1234 5678', null), '525512345678')
  assert.equal(normalizePhone('+52 1 55 1234 567', null), null)
  assert.equal(normalizePhone('+52 2 55 1234 5678', null), null)
})

it('drops ten bare digits without a country instead of taking them for another country', () => {
  // +65 6555 1212 is a number of Singapore and (656) 555-1212 one of Florida.
  assert.equal(normalizePhone('6565551212', null), null)
  assert.equal(normalizePhone('6565551212', 'sg'), '6565551212')
  assert.equal(normalizePhone('6565551212', 'us'), '16565551212')
})

it('drops a number with an extension, which belongs to a whole office', () => {
  for (const number of ['+1 650 555 1212 x5', '+1 650 555 1212 ext. 5', 'tel:+16505551212;ext=5'])
    assert.equal(normalizePhone(number, 'us'), null)
})

it('drops what is no single number', () => {
  for (const number of ['', '+', 'call me', '+1 650 555 1212 / +1 650 555 1213', '1-800-flowers'])
    assert.equal(normalizePhone(number, 'us'), null)
  assert.equal(normalizePhone(`+1650555${' '.repeat(100)}1212`, null), null)
})

it('survives a country that has no numbering plan of its own', () => {
  assert.equal(normalizePhone('0612345678', 'aq'), null)
  assert.equal(normalizePhone('+16505551212', 'aq'), '16505551212')
})

it('reads signs between the digits as the spaces that they stand for', () => {
  for (const number of [
    '+1_650_555_1212',
    '+1|650|555|1212',
    '[+1] 650-555-1212'.replace('[+1]', '+1'),
    '1_650_555_1212',
    '1|650|555|1212',
    '1-[650]-555-1212',
    '1 {650} 555 1212',
    '1–650–555–1212',
    '+1•650•555•1212',
  ])
    assert.equal(normalizePhone(number, null), '16505551212', number)
  for (const number of ['16505551212#7', '1650555*1212', '1650555,1212', '1-650-555-1212;ext=7'])
    assert.equal(normalizePhone(number, null), null, number)
})
