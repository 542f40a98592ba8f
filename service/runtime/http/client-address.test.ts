import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { parseIpAddress, parseNetworks } from '../util/ip-address.ts'
import { createClientAddressReader, createTrustedProxies } from './client-address.ts'

const PROXY = { address: '10.0.0.0', prefixBits: 8, family: 'ipv4' } as const
const addressOf = createClientAddressReader(createTrustedProxies([PROXY]))
const ofPeer = (ip: string | undefined) => addressOf({ ip, headers: {} })

it('is the address of the peer in any notation', () => {
  assert.equal(ofPeer('192.0.2.7'), '192.0.2.7')
  assert.equal(ofPeer('::ffff:192.0.2.7'), '192.0.2.7')
  assert.equal(ofPeer(undefined), 'unknown')
})

it('is the same for a whole IPv6 /64 and different for the next one', () => {
  const same = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::', '2001:DB8:1:2:3:4:5:6%eth0']
  for (const address of same) assert.equal(ofPeer(address), '2001:db8:1:2::/64')
  assert.equal(ofPeer('2001:db8:1:3::1'), '2001:db8:1:3::/64')
  assert.equal(ofPeer('::1'), '0:0:0:0::/64')
  assert.equal(ofPeer('fe80::'), 'fe80:0:0:0::/64')
  assert.equal(ofPeer('64:ff9b::192.0.2.7'), '64:ff9b:0:0::/64')
})

it('is the client that a trusted proxy reports, and ignores X-Forwarded-For of other peers', () => {
  const forwarded = (ip: string, chain: string) =>
    addressOf({ ip, headers: { 'x-forwarded-for': chain } })
  assert.equal(forwarded('10.1.1.1', '198.51.100.9, 203.0.113.5'), '203.0.113.5')
  assert.equal(forwarded('10.1.1.1', '203.0.113.5, 10.2.2.2'), '203.0.113.5')
  assert.equal(forwarded('10.1.1.1', 'nonsense'), '10.1.1.1')
  assert.equal(forwarded('192.0.2.7', '203.0.113.5'), '192.0.2.7')
})

it('returns a short address for any X-Forwarded-For', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4()), chain => {
      const address = addressOf({ ip: '10.1.1.1', headers: { 'x-forwarded-for': chain } })
      assert.match(address, /^[0-9a-f:./]{3,24}$/)
    }),
  )
})

const OURS = createTrustedProxies(parseNetworks('10.0.0.0/8, 192.0.2.7, 2001:db8:1::/48') ?? [])

const findClient = (chain: string | undefined) => OURS.findClientAddress(chain)?.toString() ?? null

it('trusts a peer by its network in any notation of its address', () => {
  for (const peer of [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '192.0.2.7',
    '2001:DB8:1::5',
    'fe80::1%eth0',
  ]) {
    assert.equal(OURS.isTrusted(parseIpAddress(peer)), !peer.startsWith('fe80'), peer)
  }
  for (const peer of ['11.0.0.1', '192.0.2.8', '2001:db8:2::1', '127.0.0.1', '']) {
    assert.equal(OURS.isTrusted(parseIpAddress(peer)), false, peer)
  }
})

it('trusts no peer without a list', () => {
  const none = createTrustedProxies([])
  for (const peer of ['127.0.0.1', '10.0.0.1', '::1'])
    assert.equal(none.isTrusted(parseIpAddress(peer)), false)
})

it('finds the client from the end of the chain, past the trusted proxies', () => {
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
    assert.equal(findClient(chain), client, chain)
  }
})

it('returns no address rather than a wrong one', () => {
  for (const chain of [undefined, '', '10.0.0.1', '10.0.0.1, 10.0.0.2', '8.8.8.8, unknown', ',']) {
    assert.equal(findClient(chain), null, chain)
  }
  assert.equal(findClient('8.8.8.8, _hidden, 10.0.0.1'), null)
  assert.equal(findClient(`8.8.8.8${', 10.0.0.1'.repeat(100)}`), null)
})
