import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { Refusal } from './refusal.ts'
import { readJsonBody } from './request-body.ts'

const STORABLE_JSON = fc
  .jsonValue({ stringUnit: 'binary' })
  .filter(value => !JSON.stringify(value).includes('\\u0000'))

it('parses like JSON.parse', () => {
  fc.assert(
    fc.property(STORABLE_JSON, value => {
      const text = JSON.stringify(value)
      assert.deepEqual(readJsonBody(Buffer.from(text)), JSON.parse(text))
    }),
  )
})

it('parses an empty body as undefined', () => {
  assert.equal(readJsonBody(Buffer.alloc(0)), undefined)
})

it('refuses invalid UTF-8 before it parses JSON', () => {
  for (const bytes of [[0xff], [0x22, 0xe9, 0x22], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf8]]) {
    assert.equal(refusalOf(Buffer.from(bytes)), '400 The body is not valid UTF-8.')
  }
})

it('refuses invalid JSON without repeating any of it', () => {
  for (const text of ['{', 'secret', '{"a":1}x', "{'a':1}", '{"a":01}', '\u{feff}1', '"\t"']) {
    assert.equal(refusalOf(Buffer.from(text)), '400 The body is not valid JSON.')
  }
})

it('limits nesting to 32 levels and ignores brackets in strings', () => {
  const deep = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`
  assert.doesNotThrow(() => readJsonBody(Buffer.from(deep(32))))
  const tooDeep = '400 The body is nested deeper than 32 levels.'
  assert.equal(refusalOf(Buffer.from(`[${deep(32)}]`)), tooDeep)
  assert.equal(refusalOf(Buffer.from(`[1,${deep(32)}]`)), tooDeep)
  assert.equal(refusalOf(Buffer.from(deep(20_000))), tooDeep)
  const inText = JSON.stringify({ text: deep(2_000) })
  assert.deepEqual(readJsonBody(Buffer.from(inText)), JSON.parse(inText))
})

it('keeps __proto__ as a member like any other, in any notation at any depth', () => {
  for (const name of ['__proto__', '\\u005f_proto__', '__pro\\u0074o__']) {
    const text = `{"a":{"${name}":{"b":1},"c":[{"${name}":1}]},"${name}":null}`
    const body = readJsonBody(Buffer.from(text)) as Record<string, Record<string, unknown>>
    assert.deepEqual(Object.keys(body), ['a', '__proto__'])
    assert.equal(JSON.stringify(body), text.replaceAll(name, '__proto__'))
    assert.equal(Object.getPrototypeOf(body), Object.prototype)
    assert.equal(Object.getPrototypeOf(body.a), Object.prototype)
  }
  const text = '{"text":"__proto__","constructor":1,"a\\u0062":2}'
  assert.deepEqual(readJsonBody(Buffer.from(text)), { text: '__proto__', constructor: 1, ab: 2 })
})

it('refuses duplicate members in any notation at any depth', () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '[{"b":{"a":{},"a":{}}}]',
    '{"a":1,"\\u0061":2}',
    '{"é":1,"\\u00e9":2}',
    '{"":1,"":2}',
    '{"\\"":1,"\\"":2}',
    '{ "a" : ":" , "a"\n:\t1}',
    '{"a":":::::\\u003a","a":2}',
    '{"1":1,"1":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"__proto__":1,"\\u005f_proto__":2}',
  ]) {
    const found = refusalOf(Buffer.from(text))
    assert.equal(found, '400 The body has an object that names a member twice.', text)
  }
})

it('accepts the same name in different objects, and colons and quotes in strings', () => {
  for (const text of [
    '{"a":{"a":[{"a":1},{"a":1}]}}',
    '{"a":"b\\":\\"","b":"\\\\","c":":","d:e":"{\\"a\\":1}"}',
    '{"a":"\\u0022:\\u0022","b":"é:"}',
    '["a:","b",":"]',
    '":"',
  ]) {
    assert.deepEqual(readJsonBody(Buffer.from(text)), JSON.parse(text), text)
  }
})

it('finds exactly the duplicate names', () => {
  const name = fc.string({ unit: 'binary' }).filter(text => !text.includes('\0'))
  const names = fc.uniqueArray(name, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(names, STORABLE_JSON, fc.nat(), (unique, value, pick) => {
      const own = unique.concat('z')
      const text = (list: string[]) =>
        `{${list.map(name => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
      assert.doesNotThrow(() => readJsonBody(Buffer.from(text([...new Set(own)]))))
      const again = own[pick % own.length] ?? ''
      assert.match(refusalOf(Buffer.from(text([...own, again]))), /names a member twice/)
    }),
  )
})

it('parses numbers like JavaScript, including those out of range', () => {
  const text = '{"a":1e999,"b":-1e999,"c":123456789012345678901234567890,"d":1e-999,"e":-0}'
  assert.deepEqual(readJsonBody(Buffer.from(text)), JSON.parse(text))
})

function refusalOf(bytes: Buffer): string {
  try {
    return JSON.stringify(readJsonBody(bytes))
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return `${error.status} ${error.message}`
  }
}
