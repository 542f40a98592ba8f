import assert from 'node:assert/strict'
import { it } from 'node:test'
import Type from 'typebox'
import { compileBodySchema } from './body-schema.ts'
import { addSchemaErrors, FieldErrorList } from './field-errors.ts'

const CIRCLE = Type.Object({ kind: Type.Literal('circle'), radius: Type.Integer() })
const LABEL = Type.Object({
  kind: Type.Literal('label'),
  text: Type.String({ maxLength: 3 }),
  link: Type.Optional(Type.String({ format: 'uri' })),
})
const checkShape = compileBodySchema({
  oneOf: [CIRCLE, LABEL],
  discriminator: { propertyName: 'kind' },
})

it('finds nothing wrong with a value of either variant, and changes neither', () => {
  const circle = Object.freeze({ kind: 'circle', radius: 1, unknown: 'kept' })
  assert.equal(checkShape(circle), null)
  assert.equal(checkShape({ kind: 'label', text: 'abc' }), null)
})

it('names the faults of the variant that the value names, all at once', () => {
  assert.deepEqual(faultsOf({ kind: 'circle', radius: '1', text: 'long text' }), {
    radius: ['The radius field must be an integer.'],
  })
  assert.deepEqual(faultsOf({ kind: 'label', text: 'long', link: 'nowhere' }), {
    text: ['The text field must not be greater than 3 characters.'],
    link: ['The link field must be an absolute URI.'],
  })
})

it('never turns text into a number, or one variant into another', () => {
  for (const radius of ['1', 1.5, true, null, [1], Number.NaN, Infinity]) {
    assert.deepEqual(Object.keys(faultsOf({ kind: 'circle', radius })), ['radius'])
  }
})

it('names the tag when it is missing or names no variant, and still checks the rest', () => {
  assert.deepEqual(faultsOf({ radius: 1 }), { kind: ['The kind field is required.'] })
  assert.deepEqual(faultsOf({ kind: 'square', radius: 'x' }), {
    kind: ['The kind field must be one of: circle, label.'],
    radius: ['The radius field must be an integer.'],
  })
  for (const kind of ['__proto__', 'constructor', 'toString']) {
    assert.deepEqual(Object.keys(faultsOf({ kind, radius: 1 })), ['kind'])
  }
})

it('tells what is no object from an object without members', () => {
  for (const value of [[], 'circle', 1, null]) {
    assert.deepEqual(faultsOf(value), { body: ['The body field must be an object.'] })
  }
})

it('takes a URI with a scheme and something after it, without white space or controls', () => {
  const check = compileBodySchema(Type.String({ format: 'uri' }))
  const right = ['https://a.example', 'app://x', 'HTTP://A/ä?b=c#d', 'urn:a:b', 'mailto:a@b.c']
  for (const uri of right) assert.equal(check(uri), null, uri)
  const wrong = ['', 'a', '/a', '//a', 'https:', 'https://', '1a:b', 'a:b c', 'a:b\n', 'https://[']
  for (const uri of wrong) assert.equal(check(uri)?.length, 1, uri)
})

it('compiles a schema without variants as it stands', () => {
  const check = compileBodySchema(Type.Object({ date: Type.String({ minLength: 1 }) }))
  assert.equal(check({ date: 'today' }), null)
  assert.equal(check({ date: '' })?.[0]?.keyword, 'minLength')
})

function faultsOf(value: unknown): Record<string, string[]> {
  const list = new FieldErrorList()
  addSchemaErrors(list, checkShape(value) ?? [])
  return list.toErrors()
}
