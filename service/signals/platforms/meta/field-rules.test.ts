import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeMetaUserData } from '../../../../testing/fixtures/meta-identity.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import { hashIdentifier } from '../../identity/normalize-user-data.ts'

it('a ZIP+4 is cut only where it is one', () => {
  const zip = (country: string, zp: string) => normalizeMetaUserData({ country, zp }).digests.zp
  assert.deepEqual(zip('US', '94035-1234'), zip('US', '94035'))
  assert.deepEqual(zip('SA', '12345-6789'), zip('SA', '123456789'))
  assert.notDeepEqual(zip('SA', '12345-6789'), zip('SA', '12345'))
})

it('the country of the event completes its phone numbers, wherever it stands', () => {
  const { digests } = normalizeMetaUserData({ ph: '06 12 34 56 78', country_code: 'FR' })
  assert.deepEqual(digests.ph, normalizeMetaUserData({ ph: '+33612345678' }).digests.ph)
})

it('a country that is already a digest completes nothing', () => {
  const country = normalizeMetaUserData({ country: 'fr' }).digests.country
  const { digests, dropped } = normalizeMetaUserData({ ph: '0612345678', country })
  assert.deepEqual(digests, { country })
  assert.deepEqual(
    dropped.map(({ field }) => field),
    ['user_data.ph'],
  )
})

it('a name or place without a letter is dropped, not hashed as ""', () => {
  for (const key of ['fn', 'ln', 'ct', 'st']) {
    for (const text of ['--', '😀', '123', '\u0301', '\u0000']) {
      assert.deepEqual(normalizeMetaUserData({ [key]: text }).digests, {})
    }
  }
})

const dropsOf = (userData: Record<string, unknown>) => normalizeMetaUserData(userData).dropped

it('full-width digits and signs are hashed as plain ones', () => {
  const wide = {
    zp: '１２３４５',
    ph: '＋８１９０１２３４５６７８',
    em: 'ａ@ｅｘａｍｐｌｅ．ｃｏｍ',
    fn: 'Ｍａｒｙ',
  }
  const plain = { zp: '12345', ph: '+819012345678', em: 'a@example.com', fn: 'Mary' }
  assert.deepEqual(normalizeMetaUserData(wide), normalizeMetaUserData(plain))
  const kana = normalizeMetaUserData({ ln: 'ﾔﾏｸﾞﾁ' })
  assert.deepEqual(kana, normalizeMetaUserData({ ln: 'ヤマグチ' }))
})

it('an acute accent for an apostrophe adds no letter', () => {
  for (const ln of ['O´Brien', 'O`Brien', "O'Brien", 'OBrien'])
    assert.deepEqual(normalizeMetaUserData({ ln }).digests.ln, [hashIdentifier('obrien')], ln)
})

it('a country by name or by three letters gives phones, states and ZIP codes their meaning', () => {
  const expected = normalizeMetaUserData({
    country: 'us',
    ph: '+16505551212',
    st: 'ca',
    zp: '94035',
  })
  for (const country of ['USA', 'United States', 'Estados Unidos', 'U.S.']) {
    const userData = { country, ph: '(650) 555-1212', st: 'California', zp: '94035-1234' }
    assert.deepEqual(normalizeMetaUserData(userData), expected, country)
  }
})

it('a state by name is its code without a country, unless the name is of another place', () => {
  const state = (st: string) => normalizeMetaUserData({ st }).digests.st
  assert.deepEqual(state('California'), [hashIdentifier('ca')])
  assert.deepEqual(state('Ontario'), [hashIdentifier('on')])
  assert.deepEqual(state('Georgia'), [hashIdentifier('georgia')])
  assert.deepEqual(normalizeMetaUserData({ st: 'California', country: 'MX' }).digests.st, [
    hashIdentifier('california'),
  ])
  const given = { st: 'Georgia', country: 'United States (US)' }
  assert.deepEqual(normalizeMetaUserData(given).digests.st, [hashIdentifier('ga')])
})

it('a ZIP code that was a number gets its zeros back', () => {
  const zip = (zp: unknown, country?: string) =>
    normalizeMetaUserData({ zp, ...(country && { country }) }).digests.zp
  for (const lost of [2134, '2134', '02134', '2134-5678', 21345678, '02134-5678'])
    assert.deepEqual(zip(lost, 'US'), [hashIdentifier('02134')], String(lost))
  for (const lost of [501, '501', '00501-0001', '501-0001'])
    assert.deepEqual(zip(lost, 'USA'), [hashIdentifier('00501')], String(lost))
  assert.deepEqual(zip(601, 'PR'), [hashIdentifier('00601')])
  // Four digits are a whole code elsewhere, and nobody knows without a country.
  for (const country of ['DK', 'CH', 'AU', undefined])
    assert.deepEqual(zip('2134', country), [hashIdentifier('2134')], country)
  assert.deepEqual(zip('12', 'US'), [hashIdentifier('12')])
})

it('birthday and birth_day are a whole date, or the day of one', () => {
  const read = (userData: Record<string, unknown>) => normalizeMetaUserData(userData).digests
  const whole = { db: [hashIdentifier('19970216')] }
  for (const name of ['birthday', 'birth_day', 'Birthday', 'BIRTH-DAY', 'birthDay', 'bday']) {
    for (const date of ['1997-02-16', 19_970_216, '16.2.1997', ['1997|02|16']])
      assert.deepEqual(read({ [name]: date }), whole, `${name} ${date}`)
  }
  for (const day of [16, '16', ' 16 ', ['16']])
    assert.deepEqual(read({ birth_day: day }), { dobd: [hashIdentifier('16')] }, String(day))
  assert.deepEqual(read({ dobd: '1997-02-16' }), {})
  assert.deepEqual(dropsOf({ birthday: 'soon' }), [
    { field: 'user_data.birthday', reason: DROP_REASONS.birthDate },
  ])
})

it('a birth date is a number, a text or a timestamp, and not in the future', () => {
  for (const db of [19_970_216, '19970216', '1997-02-16', '1997-02-16T00:00:00.000Z'])
    assert.deepEqual(normalizeMetaUserData({ db }).digests.db, [hashIdentifier('19970216')])
  assert.deepEqual(normalizeMetaUserData({ db: '2030-01-01' }).digests, {})
  assert.deepEqual(dropsOf({ db: '2030-01-01' }), [
    { field: 'user_data.db', reason: DROP_REASONS.birthDateInFuture },
  ])
  for (const db of [856_051_200, 856_051_200_000])
    assert.deepEqual(dropsOf({ db }), [{ field: 'user_data.db', reason: DROP_REASONS.birthDate }])
})

it('numbers as names stay dropped', () => {
  for (const key of ['fn', 'ln', 'ct', 'st', 'country', 'fi', 'f5first', 'f5last'])
    assert.deepEqual(normalizeMetaUserData({ [key]: 7 }).digests, {})
})

it('initials and parts of names and birth dates are hashed by the rules of the SDK', () => {
  const { digests, dropped } = normalizeMetaUserData({
    fi: 'Mary',
    f5first: 'Christopher',
    f5last: "O'Brien",
    doby: 1997,
    dobm: '2',
    dobd: 16,
    app_user_id: ' User-7 ',
  })
  assert.deepEqual(dropped, [])
  assert.deepEqual(digests, {
    fi: [hashIdentifier('m')],
    f5first: [hashIdentifier('chris')],
    f5last: [hashIdentifier('obrie')],
    doby: [hashIdentifier('1997')],
    dobm: [hashIdentifier('02')],
    dobd: [hashIdentifier('16')],
    app_user_id: [hashIdentifier('user-7')],
  })
  const { digests: none } = normalizeMetaUserData({
    fi: '--',
    f5first: '😀',
    doby: 2027,
    dobm: 13,
    dobd: '0',
    app_user_id: 'undefined',
  })
  assert.deepEqual(none, {})
})

it('an initial is a whole character', () => {
  assert.deepEqual(normalizeMetaUserData({ fi: '𐐨bc' }).digests.fi, [hashIdentifier('𐐨')])
})

const FLAT = { fn: 'Mary', ln: 'Smith', ct: 'Paris', st: 'Texas', zp: '75460', country: 'USA' }
const NESTED = {
  first_name: 'Mary',
  lastName: 'Smith',
  city: 'Paris',
  region: 'Texas',
  postal_code: '75460',
  country: 'USA',
}

it('an address is read as the members of user_data are', () => {
  const flat = normalizeMetaUserData({ ...FLAT, ph: '903 785 8471' })
  for (const address of [NESTED, [NESTED], { ...NESTED, street: null }]) {
    assert.deepEqual(normalizeMetaUserData({ address, ph: '903 785 8471' }), flat)
  }
  const both = normalizeMetaUserData({ ...FLAT, ph: '903 785 8471', Address: NESTED })
  assert.deepEqual(both, flat)
})

it('what an address has besides is dropped and recorded without its value', () => {
  const address = { street: '1 Main St', client_ip_address: '8.8.8.8', 'a@b.co': 1, city: '123' }
  assert.deepEqual(normalizeMetaUserData({ address }), {
    digests: {},
    plain: {},
    dropped: [
      { field: 'user_data.address.street', reason: DROP_REASONS.unknown },
      { field: 'user_data.address.client_ip_address', reason: DROP_REASONS.unknown },
      { field: 'user_data.address.*', reason: DROP_REASONS.unknown },
      { field: 'user_data.address.city', reason: DROP_REASONS.place },
    ],
  })
  assert.deepEqual(dropsOf({ address: '1 Main St' }), [
    { field: 'user_data.address', reason: DROP_REASONS.wrongKind },
  ])
})

it('each address has its own country, and user_data has the first', () => {
  const { digests } = normalizeMetaUserData({
    ph: '0612345678',
    address: [
      { country: 'France', state: 'California' },
      { country: 'US', state: 'California' },
    ],
  })
  assert.deepEqual(digests.ph, [hashIdentifier('33612345678')])
  assert.deepEqual(digests.st, [hashIdentifier('california'), hashIdentifier('ca')])
})

it('IDs of the caller are hashed as written, but for case, blanks and accents', () => {
  for (const key of ['external_id', 'app_user_id']) {
    const { digests } = normalizeMetaUserData({ [key]: ' Ｕ-①José ' })
    assert.deepEqual(digests[key], [hashIdentifier('ｕ-①josé')])
    assert.deepEqual(normalizeMetaUserData({ [key]: ' Ｕ-①José ' }).digests[key], digests[key])
  }
})
