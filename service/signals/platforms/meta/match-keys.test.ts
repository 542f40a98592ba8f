import assert from 'node:assert/strict'
import { it } from 'node:test'
import { validateUserData } from '@signalbox/graph-simulator/validate-user-data.ts'
import { HASHED_FIELD_RULES, PLAIN_FIELD_RULES } from './normalize-identity.ts'
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

const DIGEST = 'a'.repeat(64)
const HASHED_KEYS = Object.keys(HASHED_FIELD_RULES)

it('the simulator refuses each hashed key that is sent raw', () => {
  // Meta takes external_id both ways.
  for (const key of HASHED_KEYS.filter(name => name !== 'external_id')) {
    const error = validateUserData({ em: [DIGEST], [key]: ['jane'] })
    assert.match(JSON.stringify(error) ?? '', /must be a SHA-256 digest/, key)
  }
})

it('the simulator knows each key, and finds the same pairs of them too broad', () => {
  const keys = [...HASHED_KEYS, ...Object.keys(PLAIN_FIELD_RULES)]
  for (const one of keys) {
    for (const other of keys) {
      const isRefused = validateUserData({ [one]: [DIGEST], [other]: [DIGEST] }) !== undefined
      assert.equal(isRefused, !hasSufficientMatchKeys([one, other]), `${one} ${other}`)
    }
  }
})
