import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parsePublicAddress } from './ip-address.ts'

it('strips port, brackets and zone, and shortens IPv6', () => {
  const cases = [
    ['8.8.8.8', '8.8.8.8'],
    [' 8.8.8.8 ', '8.8.8.8'],
    ['8.8.8.8:443', '8.8.8.8'],
    ['[2A00:1450:4001:0:0:0:0:1]:443', '2a00:1450:4001::1'],
    ['[2a00:1450::1]', '2a00:1450::1'],
    ['2a00:1450::1%eth0', '2a00:1450::1'],
    ['[2a00:1450::1%25en-0]:80', '2a00:1450::1'],
  ] as const
  for (const [given, kept] of cases) assert.equal(parsePublicAddress(given), kept)
})

it('reads IPv4 inside IPv6 as IPv4, however it is written', () => {
  for (const mapped of ['::ffff:8.8.8.8', '::FFFF:808:808', '0:0:0:0:0:ffff:8.8.8.8'])
    assert.equal(parsePublicAddress(mapped), '8.8.8.8')
  assert.equal(parsePublicAddress('::ffff:10.0.0.1'), null)
})

it('drops reserved addresses', () => {
  for (const reserved of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.2.1',
    '198.51.100.7',
    '203.0.113.9',
    '198.19.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1%eth0',
    'fd12:3456::1',
    'fc00::1',
    'ff02::1',
    '2001:db8::1',
    '3fff::1',
    // IPv4 inside: NAT64, 6to4, its relays, and Teredo.
    '64:ff9b::808:808',
    '2002:808:808::1',
    '192.88.99.1',
    '2001:0:808:808::1',
    // Outside of global unicast.
    '4000::1',
    '5f00::1',
  ])
    assert.equal(parsePublicAddress(reserved), null, reserved)
})

it('keeps the neighbours of the reserved ranges', () => {
  for (const neighbour of ['100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1', '9.9.9.9'])
    assert.equal(parsePublicAddress(neighbour), neighbour)
  for (const neighbour of ['2001:db7::1', '2001:200::1', '2003::1', '3ffe::1'])
    assert.equal(parsePublicAddress(neighbour), neighbour)
})

it('drops what is not one address', () => {
  for (const text of [
    '',
    'localhost',
    '8.8.8',
    '08.8.8.8',
    '8.8.8.8, 1.1.1.1',
    '8.8.8.8:http',
    '[8.8.8.8',
    '2a00::1::2',
    '1'.repeat(5_000),
  ])
    assert.equal(parsePublicAddress(text), null, text.slice(0, 20))
})
