import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readNetworks } from '../settings/networks.ts'
import { trustedProxies } from './trusted-proxies.ts'

const OURS = trustedProxies(readNetworks('10.0.0.0/8, 192.0.2.7, 2001:db8:1::/48') ?? [])

it('trusts a peer by its network, in any spelling of its address', () => {
  for (const peer of [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '192.0.2.7',
    '2001:DB8:1::5',
    'fe80::1%eth0',
  ]) {
    assert.equal(OURS.isTrusted(peer), !peer.startsWith('fe80'), peer)
  }
  for (const peer of ['11.0.0.1', '192.0.2.8', '2001:db8:2::1', '127.0.0.1', '', undefined]) {
    assert.equal(OURS.isTrusted(peer), false, peer)
  }
})

it('trusts nobody without a list', () => {
  const nobody = trustedProxies([])
  for (const peer of ['127.0.0.1', '10.0.0.1', '::1']) assert.equal(nobody.isTrusted(peer), false)
})

it('finds the browser from the end of the chain, past its own proxies', () => {
  for (const [chain, client] of [
    ['8.8.8.8', '8.8.8.8'],
    ['8.8.8.8, 10.0.0.1', '8.8.8.8'],
    ['8.8.8.8,10.0.0.1,192.0.2.7', '8.8.8.8'],
    ['1.1.1.1, 8.8.8.8, 10.0.0.1', '8.8.8.8'],
    ['10.0.0.9, 8.8.8.8', '8.8.8.8'],
    ['8.8.8.8:51111', '8.8.8.8'],
    ['"invented", 8.8.8.8', '8.8.8.8'],
    ['[2A00:1450:4001::1]:443, 2001:db8:1::1', '2a00:1450:4001::1'],
    ['::ffff:8.8.8.8, ::ffff:10.0.0.1', '8.8.8.8'],
  ] as const) {
    assert.equal(OURS.clientOf(chain), client, chain)
  }
})

it('rather knows no address than a wrong one', () => {
  for (const chain of [undefined, '', '10.0.0.1', '10.0.0.1, 10.0.0.2', '8.8.8.8, unknown', ',']) {
    assert.equal(OURS.clientOf(chain), null, chain)
  }
  assert.equal(OURS.clientOf('8.8.8.8, _hidden, 10.0.0.1'), null)
  assert.equal(OURS.clientOf(`8.8.8.8${', 10.0.0.1'.repeat(100)}`), null)
})
