import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hasSufficientMatchKeys } from './payload.ts'

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
    ['doby', 'dobm', 'dobd'],
    ['fi', 'f5first', 'fn', 'ge'],
    ['f5last', 'ln'],
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
    ['fi', 'f5last'],
    ['app_user_id'],
    ['db', 'ge'],
    ['fn', 'zp'],
    ['db', 'client_user_agent', 'country'],
  ])
    assert.equal(hasSufficientMatchKeys(keys), true, keys.join())
})
