import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findIdentityMember, hasSufficientMatchKeys } from './user-data-keys.ts'

it('names the first member that carries identity, valid or not', () => {
  const cases = [
    [{ em: 'a@example.com' }, 'user_data.em'],
    [{ em: null, phone: '5' }, 'user_data.phone'],
    [{ firstName: ['', 'Mary'] }, 'user_data.firstName'],
    [{ external_id: 0 }, 'user_data.external_id'],
    [{ client_ip_address: '8.8.8.8' }, 'user_data.client_ip_address'],
    [{ fbp: 'broken' }, 'user_data.fbp'],
    [{ hashed_email: 'x' }, 'user_data.hashed_email'],
  ] as const
  for (const [userData, path] of cases) assert.equal(findIdentityMember(userData), path)
})

it('sees no identity in nothing', () => {
  for (const userData of [
    undefined,
    null,
    {},
    { em: null, ph: undefined, fn: ' ', ln: [], ct: [null, ''], st: {} },
    [],
    'a@example.com',
  ])
    assert.equal(findIdentityMember(userData), null)
})

it('leaves unknown members out, since they are never kept', () => {
  const hostile = JSON.parse('{"__proto__": "x", "constructor": "x", "emial": "a@example.com"}')
  assert.equal(findIdentityMember(hostile), null)
})

it('refuses every key set that lies within one that Meta calls too broad', () => {
  for (const keys of [
    [],
    ['client_user_agent'],
    ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
    ['country', 'zp'],
    ['db', 'client_user_agent'],
    ['db'],
    ['fn', 'ge'],
    ['ln', 'ge'],
    ['ln'],
  ])
    assert.equal(hasSufficientMatchKeys(keys), false, keys.join())
})

it('accepts a key set as soon as it lies within none of them', () => {
  for (const keys of [
    ['em'],
    ['external_id'],
    ['client_ip_address'],
    ['fbp', 'client_user_agent'],
    ['fn', 'ln'],
    ['db', 'ge'],
    ['fn', 'zp'],
    ['db', 'client_user_agent', 'country'],
  ])
    assert.equal(hasSufficientMatchKeys(keys), true, keys.join())
})
