import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseNetworks } from './networks.ts'

it('reads addresses and ranges of both families', () => {
  assert.deepEqual(parseNetworks('10.0.0.0/8, 192.0.2.7,2001:db8::/32 ,::1'), [
    { address: '10.0.0.0', prefixBits: 8, family: 'ipv4' },
    { address: '192.0.2.7', prefixBits: 32, family: 'ipv4' },
    { address: '2001:db8::', prefixBits: 32, family: 'ipv6' },
    { address: '::1', prefixBits: 128, family: 'ipv6' },
  ])
})

it('refuses a list with one part that is neither', () => {
  const wrong = [
    ...['', 'true', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '10.0.0'],
    ...[
      '10.0.0.1,',
      'proxy.example',
      '[::1]',
      '10.0.0.1:80',
      'fe80::1%eth0',
      '::ffff:10.0.0.0/104',
    ],
    Array(201).fill('10.0.0.1').join(','),
  ]
  for (const text of wrong) assert.equal(parseNetworks(text), null, text)
})
