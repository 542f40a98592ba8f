import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isWebhookAddress, parseWebhookUrl } from './client.ts'

it('allows public addresses', () => {
  for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450:4001::1']) {
    assert.equal(isWebhookAddress(address), true, address)
  }
})

it('refuses private and reserved addresses, and IPv6 ranges that lead to them', () => {
  const refused = [
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['0.0.0.0', '224.0.0.1', '255.255.255.255', '198.18.0.1', '192.88.99.1'],
    ...['::1', '::', 'fe80::1', 'fd00::1', 'ff02::1', '2001:db8::1', '::ffff:127.0.0.1'],
    // NAT64, 6to4 and Teredo of 127.0.0.1 and 10.0.0.1.
    ...['64:ff9b::7f00:1', '2002:7f00:1::1', '2002:a00:1::', '2001:0:7f00:1::', '::7f00:1'],
    ...['fe80::1%eth0', '', 'hooks.example', '127.1'],
  ]
  for (const address of refused) assert.equal(isWebhookAddress(address), false, address)
})

it('accepts https URLs with a public host', () => {
  for (const url of [
    'https://hooks.slack.com/services/T0/B0/x',
    'https://hooks.example.com:8443/a?b=c',
    'https://8.8.8.8/',
    'https://bücher.example.com/',
  ]) {
    const parsed = parseWebhookUrl(url)
    assert.ok('url' in parsed, url)
  }
  const parsed = parseWebhookUrl('https://hooks.example.com/a#secret')
  assert.equal('url' in parsed && parsed.url.href, 'https://hooks.example.com/a')
})

it('names the problem of any other URL', () => {
  const wrong = {
    invalid: ['', 'hooks.example.com', 'https://', `https://a.example.com/${'x'.repeat(2_000)}`],
    not_https: ['http://hooks.example.com/', 'ftp://a.example.com/', 'javascript:alert(1)'],
    has_credentials: ['https://user:pass@hooks.example.com/', 'https://user@hooks.example.com/'],
    not_public: [
      ...['https://localhost/', 'https://LOCALHOST./', 'https://intranet/', 'https://a.local/'],
      ...['https://127.0.0.1/', 'https://0x7f.1/', 'https://2130706433/', 'https://[::1]:8443/'],
      ...['https://metadata.google.internal/', 'https://[::ffff:a00:1]/', 'https://10.0.0.1/'],
    ],
  }
  for (const [problem, urls] of Object.entries(wrong)) {
    for (const url of urls) assert.deepEqual(parseWebhookUrl(url), { problem }, url)
  }
})
