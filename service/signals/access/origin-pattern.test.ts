import assert from 'node:assert/strict'
import { it } from 'node:test'
import { matchesOrigin, normalizeOriginPattern } from './authenticate-publishable-key.ts'

it('normalizes an origin to lower case and ASCII without the default port', () => {
  for (const [given, normalized] of [
    ['https://shop.example', 'https://shop.example'],
    ['HTTPS://Shop.Example:443', 'https://shop.example'],
    ['https://shop.example:8443', 'https://shop.example:8443'],
    ['http://shop.example:80', 'http://shop.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://192.0.2.7:8080', 'http://192.0.2.7:8080'],
    ['http://127.0.0.1:*', 'http://127.0.0.1:*'],
    ['HTTPS://LocalHost:*', 'https://localhost:*'],
    ['http://[::1]:*', 'http://[::1]:*'],
    ['https://*.Shop.example', 'https://*.shop.example'],
    ['https://*.shop.example:8443', 'https://*.shop.example:8443'],
  ] as const) {
    assert.equal(normalizeOriginPattern(given), normalized, given)
  }
})

it('rejects everything that is neither an origin nor one of the two wildcards', () => {
  for (const text of [
    ...['', 'null', '*', 'shop.example', '//shop.example', 'ftp://shop.example', 'https://'],
    ...['https://shop.example/', 'https://shop.example/path', 'https://shop.example?a', 'https:/a'],
    ...[
      'https://me@shop.example',
      'https://shop.example#a',
      ' https://shop.example',
      'https://a b',
    ],
    ...['https://*', 'https://*.com', 'https://*.com:8443', 'https://*shop.example'],
    ...['https://www.*.example', 'https://*.*.example', 'https://*.10.0.0.1', 'https://**.a.b'],
    ...['http://*.shop.example', 'https://shop.example:*', 'http://10.0.0.1:*', 'http://*:*'],
    ...['http://127.0.0.1.evil.example:*', 'http://127.0.0.1:*/', 'https://*.shop.example:*'],
    `https://${'a.'.repeat(200)}example`,
  ]) {
    assert.equal(normalizeOriginPattern(text), null, text)
  }
})

it('compares scheme, host and port, ignoring case', () => {
  const patterns = ['https://shop.example', 'http://shop.example:8080']
  for (const [origin, isCovered] of [
    ['https://shop.example', true],
    ['HTTPS://SHOP.EXAMPLE', true],
    ['https://shop.example:443', true],
    ['http://shop.example:8080', true],
    ['http://shop.example', false],
    ['https://shop.example:8443', false],
    ['https://www.shop.example', false],
    ['https://shop.example.evil.example', false],
    ['https://shop.example@evil.example', false],
    ['https://shop.example/path', false],
    ['https://shop.example, https://evil.example', false],
    ['null', false],
    ['', false],
    ['*', false],
  ] as const) {
    assert.equal(matchesOrigin(patterns, origin), isCovered, origin)
  }
  assert.equal(matchesOrigin([], 'https://shop.example'), false)
})

it('matches any port of a loopback host and no host with the same prefix', () => {
  const patterns = ['http://127.0.0.1:*', 'http://[::1]:*']
  for (const [origin, isCovered] of [
    ['http://127.0.0.1', true],
    ['http://127.0.0.1:1', true],
    ['http://127.0.0.1:65535', true],
    ['http://[::1]:3000', true],
    ['https://127.0.0.1:3000', false],
    ['http://127.0.0.2:3000', false],
    ['http://127.0.0.1.evil.example:3000', false],
    ['http://localhost:3000', false],
    ['http://127.0.0.1:*', false],
  ] as const) {
    assert.equal(matchesOrigin(patterns, origin), isCovered, origin)
  }
})

it('matches subdomains at any depth but not the domain itself', () => {
  const patterns = ['https://*.shop.example']
  for (const [origin, isCovered] of [
    ['https://www.shop.example', true],
    ['https://a.b.shop.example', true],
    ['https://shop.example', false],
    ['https://evilshop.example', false],
    ['http://www.shop.example', false],
    ['https://www.shop.example:8443', false],
    ['https://www.shop.example.evil.example', false],
  ] as const) {
    assert.equal(matchesOrigin(patterns, origin), isCovered, origin)
  }
})
