import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SCRUBBED_URL_CHARACTERS_MAX, scrubUrl } from './scrub-url.ts'

describe('scrubUrl', () => {
  const cases = [
    ['https://x.io/?email=john%40x.io&p=1', 'https://x.io/?email=REDACTED&p=1', 'query.email'],
    ['https://x.io/?p=1&q=John@X.io', 'https://x.io/?p=1&q=REDACTED', 'query.q'],
    ['https://x.io/?q=j%2540x.io', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=j%4', 'https://x.io/?q=j%4', null],
    ['https://x.io/?q=%ff%40j%40x.io', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=%D0%B8%40%D1%8F.%D1%80%D1%84', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?tel=6505551212', 'https://x.io/?tel=REDACTED', 'query.tel'],
    ['https://x.io/?q=%2B1%20650%20555%201212', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=+16505551212', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=(650)+555-1212', 'https://x.io/?q=REDACTED', 'query.q'],
    [
      'https://x.io/?user[email]=a&b=2',
      'https://x.io/?user[email]=REDACTED&b=2',
      'query.user[email]',
    ],
    ['https://x.io/?user%5Bemail%5D=a', 'https://x.io/?user%5Bemail%5D=REDACTED', 'query'],
    ['https://x.io/?billingEmail=a', 'https://x.io/?billingEmail=REDACTED', 'query.billingEmail'],
    ['https://x.io/?id_token=a.b', 'https://x.io/?id_token=REDACTED', 'query.id_token'],
    ['https://x.io/?john@x.io', 'https://x.io/?REDACTED', 'query'],
    ['https://x.io/?john@x.io=1', 'https://x.io/?REDACTED=1', 'query'],
    ['https://x.io/?next=%2Fp%3Fphone%3D650', 'https://x.io/?next=REDACTED', 'query.next'],
    ['https://x.io/?a=1;phone=650', 'https://x.io/?a=REDACTED', 'query.a'],
    ['https://joe:pw@x.io/p', 'https://REDACTED@x.io/p', 'userinfo'],
    ['https:\\\\joe:pw@x.io\\p', 'https:\\\\REDACTED@x.io\\p', 'userinfo'],
    ['https://x.io/u/john@x.io/edit', 'https://x.io/u/REDACTED/edit', 'path'],
    ['https://x.io/u/john%40x.io', 'https://x.io/u/REDACTED', 'path'],
    ['https://x.io/u/+16505551212', 'https://x.io/u/REDACTED', 'path'],
    ['https://x.io/u;email=john', 'https://x.io/REDACTED', 'path'],
    ['https://x.io/?q=john&#64;x.io', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=john%u0040x.io', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=john%26commat%3Bx.io', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=john\\u0040x.io', 'https://x.io/?q=REDACTED', 'query.q'],
    ['https://x.io/?q=john&#x40;x.io&p=1', 'https://x.io/?q=REDACTED&p=1', 'query.q'],
    ['https://x.io/#john@x.io', 'https://x.io/#REDACTED', 'fragment'],
    ['https://x.io/#/a?email=j', 'https://x.io/#/a?email=REDACTED', 'fragment'],
    ['https://x.io/#access_token=t&s=1', 'https://x.io/#access_token=REDACTED&s=1', 'fragment'],
    ['mailto:john@x.io', 'mailto:REDACTED', 'path'],
    ['john@x.io', 'REDACTED', 'path'],
  ] as const
  for (const [given, kept, place] of cases) {
    it(`${given} becomes ${kept}`, () => {
      assert.deepEqual(scrubUrl(given), { url: kept, scrubbed: place === null ? [] : [place] })
    })
  }

  it('leaves URLs without identifiers byte for byte as they were', () => {
    for (const url of [
      'https://x.io',
      'https://x.io/?',
      'https://x.io/?email=&name=',
      'HTTPS://X.io:443/A%2fb/../c?utm_source=news&fbclid=IwAR_x-1&a=1&a=2&&b#top',
      'https://x.io/maps/@48.85,2.29,15z',
      'https://x.io/@handle/post',
      'https://x.io/package/react@18.2.0',
      'https://x.io/?order=16505551212&date=2026-11-21&product_name=phone&page=2',
      'https://x.io/?q=caf%E9&x=%zz&y=ß',
      'https://x.io/?headphones=1&db=products&st=2&q=a+b',
      'https://x.io/?q=a&#64&u0040=1&p=%u00e9',
      'not a url at all',
      '',
    ])
      assert.deepEqual(scrubUrl(url), { url, scrubbed: [] })
  })

  it('says once where something was replaced, and changes nothing the second time', () => {
    const first = scrubUrl('https://a:b@x.io/?email=a&email=b&q=c@d.io&token=t#e@f.io')
    assert.equal(
      first.url,
      'https://REDACTED@x.io/?email=REDACTED&email=REDACTED&q=REDACTED&token=REDACTED#REDACTED',
    )
    assert.deepEqual(first.scrubbed, [
      'userinfo',
      'query.email',
      'query.q',
      'query.token',
      'fragment',
    ])
    assert.deepEqual(scrubUrl(first.url), { url: first.url, scrubbed: [] })
  })

  it('never leaves half an identifier where a long URL was cut', () => {
    const start = `https://x.io/?a=${'x'.repeat(SCRUBBED_URL_CHARACTERS_MAX - 30)}`
    const { url } = scrubUrl(`${start}&q=john.smith@example.com&b=${'y'.repeat(5_000)}`)
    assert.equal(url, start)
    assert.equal(scrubUrl('x'.repeat(5_000)).url, '')
  })

  it('an email address or phone number is gone, wherever it stood and however encoded', () => {
    const encodings = [
      (text: string) => text,
      encodeURIComponent,
      (text: string) => encodeURIComponent(encodeURIComponent(text)),
      (text: string) => text.replace('@', '%40').replace('+', '%2b'),
    ]
    const places = [
      (text: string) => `https://shop.example/p?a=1&q=${text}&b=2`,
      (text: string) => `https://shop.example/p?${text}`,
      (text: string) => `https://shop.example/u/${text}/edit?x=1`,
      (text: string) => `https://shop.example/#/u/${text}`,
      (text: string) => `https://shop.example/p?next=${encodeURIComponent(`/l?e=${text}`)}`,
    ]
    const email = fc
      .tuple(fc.stringMatching(/^[a-z0-9][a-z0-9._+-]{4,12}[a-z0-9]$/), fc.domain())
      .map(([local, domain]) => `${local}@${domain}`)
    fc.assert(
      fc.property(
        email,
        fc.constantFrom(...encodings),
        fc.constantFrom(...places),
        (text, encode, place) => {
          const { url, scrubbed } = scrubUrl(place(encode(text)))
          assert.ok(!decodedTwice(url).includes(text))
          assert.equal(scrubbed.length, 1)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('any text gives an answer within the limit', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('@', '%40', '%', '?', '&', '=', '#', '/', 'email=', 'a@b.co', '%25'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 400 }), pieces => {
        assert.ok(scrubUrl(pieces.join('')).url.length <= SCRUBBED_URL_CHARACTERS_MAX)
      }),
    )
  })
})

function decodedTwice(url: string): string {
  return [1, 2].reduce(
    text => text.replace(/(?:%[0-9a-f]{2})+/gi, run => decodeURIComponent(run)),
    url,
  )
}
