import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findIdentityMember } from './user-data-keys.ts'

it('names the first member that carries identity, valid or not', () => {
  const cases = [
    [{ em: 'a@example.com' }, 'user_data.em'],
    [{ em: null, phone: '5' }, 'user_data.phone'],
    [{ firstName: ['', 'Mary'] }, 'user_data.firstName'],
    [{ external_id: 0 }, 'user_data.external_id'],
    [{ client_ip_address: '8.8.8.8' }, 'user_data.client_ip_address'],
    [{ fbp: 'broken' }, 'user_data.fbp'],
    [{ hashed_email: 'x' }, 'user_data.hashed_email'],
    [{ address: { street: '1', city: 'Paris' } }, 'user_data.address.city'],
    [{ Address: [{}, { zip: 75_001 }] }, 'user_data.Address.zip'],
    [{ fi: 'm' }, 'user_data.fi'],
  ] as const
  for (const [userData, path] of cases) assert.equal(findIdentityMember(userData), path)
})

it('sees no identity in nothing', () => {
  for (const userData of [
    undefined,
    null,
    {},
    { em: null, ph: undefined, fn: ' ', ln: [], ct: [null, ''], st: {} },
    { address: {} },
    { address: { street: '1 Main St', city: ' ' } },
    { address: '1 Main St' },
    [],
    'a@example.com',
  ])
    assert.equal(findIdentityMember(userData), null)
})

it('leaves unknown members out, since they are never kept', () => {
  const hostile = JSON.parse('{"__proto__": "x", "constructor": "x", "emial": "a@example.com"}')
  assert.equal(findIdentityMember(hostile), null)
})
