import { gzipSync } from 'node:zlib'
import fc from 'fast-check'

const BODY_BYTES_MAX = 65_536

/** Bodies that nobody should send: no JSON, nearly JSON, and JSON that two readers read apart. */
export function hostileBytes(validText: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc.oneof(
    fc.constantFrom(...FIXED.map(text => Buffer.from(text))),
    fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
    fc.tuple(validText, wholeChanges).map(([text, change]) => change(text)),
    fc.tuple(validText, fc.nat()).map(([text, at]) => Buffer.from(text).subarray(0, at % 400)),
    fc
      .tuple(validText, fc.nat(), fc.constantFrom(...BROKEN_BYTES))
      .map(([text, at, broken]) => overwritten(Buffer.from(text), at, broken)),
    fc
      .tuple(validText, sizes, fc.boolean())
      .map(([text, size, inText]) => sized(text, size, inText)),
  )
}

const FIXED = [
  ...[
    '',
    ' ',
    '\n',
    '\0',
    'null',
    'true',
    '0',
    '-',
    '""',
    '[]',
    '{}',
    '[[]]',
    '{',
    '}',
    '"',
    '[,]',
  ],
  ...['{"a":1,}', "{'a':1}", '{a:1}', '{"a":NaN}', '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}'],
  ...['{}{}', '{} x', '// c\n{}', '{"a":/**/1}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\ud800"}'],
  ...['{"a":"\\u0000"}', '{"\\u0061":1,"a":2}', '{"__proto__":{"polluted":true}}', 'a=b&c=d'],
  ...['{"__proto__":1,"__proto__":2}', '{"constructor":{"prototype":{"polluted":true}}}', '<a/>'],
  ...['['.repeat(32) + ']'.repeat(32), '['.repeat(33) + ']'.repeat(33), '['.repeat(60_000)],
  ...['{"a":'.repeat(10_000), `{"a":${'1'.repeat(60_000)}}`, `{"a":1e${'9'.repeat(400)}}`],
  `{${Array.from({ length: 6_000 }, (_, at) => `"${at}":0`).join()}}`,
  `[${'"",'.repeat(20_000)}""]`,
]

/** What is no UTF-8, or is UTF-8 of what may not be written so; and control characters. */
const BROKEN_BYTES = [
  ...[[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88], [0x80]],
  ...[[0x00], [0x0a], [0x1f], [0x5c], [0x22], [0x7b], [0xef, 0xbb, 0xbf]],
]

type WholeChange = (text: string) => Buffer

const wholeChanges = fc.constantFrom<WholeChange>(
  text => Buffer.from(`\ufeff${text}`),
  text => Buffer.from(`${text}\0`),
  text => Buffer.from(`${text}${text}`),
  text => Buffer.from(text, 'utf16le'),
  text => Buffer.from(text.replace('a', 'ü'), 'latin1'),
  text => Buffer.from(JSON.stringify(text)),
  text => gzipSync(text),
  text => Buffer.from(text.replace('{', '{"event_name":"Other","consent_basis":"consent",')),
  text => Buffer.from(text.replace('{', '{"__proto__":{"event_name":"x"},"enabled":true,')),
  text => Buffer.from(text.replace(/\}$/, ',}')),
  text => Buffer.from(text.replaceAll('"', "'")),
  text => Buffer.from(text.replaceAll('e', '\\u0065')),
  text => Buffer.from(` \n\r\t${text.replaceAll(',', ' \n,\r\t')}`),
)

function overwritten(bytes: Buffer, at: number, broken: number[]): Buffer {
  const start = at % (bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(broken), bytes.subarray(start + 1)])
}

const sizes = fc.constantFrom(BODY_BYTES_MAX - 1, BODY_BYTES_MAX, BODY_BYTES_MAX + 1, 70_000)

/** Blown up to so many bytes: with blanks behind it, or with a member that is text. */
function sized(text: string, bytes: number, inText: boolean): Buffer {
  const missing = Math.max(0, bytes - Buffer.byteLength(text))
  if (!inText || !/^\{"/.test(text)) return Buffer.from(text + ' '.repeat(missing))
  return Buffer.from(text.replace('{', `{"x":"${'x'.repeat(Math.max(0, missing - 7))}",`))
}
