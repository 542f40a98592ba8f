import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { it } from 'node:test'
import fc from 'fast-check'
import {
  createNetworkMatcher,
  type IpAddress,
  isPublicAddress,
  parseIpAddress,
  parseNetworks,
  parsePublicAddress,
} from './ip-address.ts'

const canonical = (text: string) => parseIpAddress(text)?.toString() ?? null

it('parses an address with a port, brackets, a zone or surrounding space', () => {
  for (const [text, address] of [
    ['192.0.2.7', '192.0.2.7'],
    [' 192.0.2.7:443', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['0:0:0:0:0:FFFF:c000:207', '192.0.2.7'],
    ['[2001:DB8:0:0:0:0:0:1]:443', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25en-0]:80', 'fe80::1'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
  ] as const) {
    assert.equal(canonical(text), address, text)
  }
})

it('keeps an IPv4-compatible IPv6 address apart from the IPv4 address', () => {
  assert.equal(canonical('::192.0.2.7'), '::c000:207')
})

it('returns null for notations that programs read differently', () => {
  for (const text of ['10.1', '0x7f.0.0.1', '012.1.1.1', '1.2.3.256', '00001::1', '1::2::3', ':']) {
    assert.equal(parseIpAddress(text), null, text)
  }
})

it('accepts exactly the addresses that Node accepts', () => {
  const group = fc.oneof(fc.stringMatching(/^[0-9a-fA-F]{0,5}$/), fc.constant('ffff'))
  const octet = fc.oneof(fc.nat(300).map(String), fc.constantFrom('00', '0x1', '1e1'))
  const ipv4 = fc.array(octet, { minLength: 3, maxLength: 5 }).map(octets => octets.join('.'))
  const ipv6 = fc.array(group, { minLength: 2, maxLength: 9 }).map(groups => groups.join(':'))
  const mixed = fc.tuple(ipv6, fc.oneof(ipv4, fc.ipV4())).map(parts => parts.join(':'))
  fc.assert(
    fc.property(fc.oneof(ipv4, ipv6, mixed, fc.ipV4(), fc.ipV6()), text => {
      // A single trailing group of digits after an IPv4 address is a port.
      if (/^[\d.]+:\d{1,5}$/.test(text)) return
      assert.equal(parseIpAddress(text) !== null, isIP(text) !== 0, text)
    }),
    { numRuns: 2_000 },
  )
})

it('matches IPv4 addresses with an IPv6 network only when it contains all of them', () => {
  const address = parseIpAddress('192.0.2.7') as IpAddress
  const matches = (text: string) => createNetworkMatcher(parseNetworks(text) ?? [])(address)
  assert.equal(matches('0.0.0.0/0'), true)
  assert.equal(matches('::/0'), true)
  assert.equal(matches('::/90'), false)
  assert.equal(matches('2000::/3, 10.0.0.0/8'), false)
})

it('parses a list of addresses and networks of both families', () => {
  assert.deepEqual(parseNetworks('10.0.0.0/8, 192.0.2.7,2001:db8::/32 ,::1'), [
    { address: '10.0.0.0', prefixBits: 8, family: 'ipv4' },
    { address: '192.0.2.7', prefixBits: 32, family: 'ipv4' },
    { address: '2001:db8::', prefixBits: 32, family: 'ipv6' },
    { address: '::1', prefixBits: 128, family: 'ipv6' },
  ])
})

it('returns null for a list with one part that is neither', () => {
  const wrong = [
    '',
    'true',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0',
    '10.0.0.1,',
    'proxy.example',
    '[::1]',
    '10.0.0.1:80',
    'fe80::1%eth0',
    '::ffff:10.0.0.0/104',
    Array(201).fill('10.0.0.1').join(','),
  ]
  for (const text of wrong) assert.equal(parseNetworks(text), null, text)
})

it('knows every special range of IPv4 that the library knows', () => {
  const octet = fc.oneof(fc.nat({ max: 300 }), fc.constantFrom(0, 10, 100, 127, 169, 172, 192))
  const edge = fc.constantFrom(0, 2, 15, 16, 18, 19, 31, 51, 88, 100, 113, 168, 198, 254, 255)
  fc.assert(
    fc.property(fc.tuple(octet, fc.oneof(octet, edge), edge, octet), octets => {
      const text = octets.join('.')
      const address = parseIpAddress(text)
      const expected = address !== null && isPublicAddress(address) ? text : null
      assert.equal(parsePublicAddress(text), expected, text)
    }),
    { numRuns: 2_000 },
  )
})
