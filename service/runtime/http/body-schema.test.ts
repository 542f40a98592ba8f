import assert from 'node:assert/strict'
import { it } from 'node:test'
import Type from 'typebox'
import { addSchemaErrors, compileBodySchema, FieldErrorList } from './body-schema.ts'

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

it('accepts a value of either variant without changing it', () => {
  const circle = Object.freeze({ kind: 'circle', radius: 1, unknown: 'extra' })
  assert.equal(checkShape(circle), null)
  assert.equal(checkShape({ kind: 'label', text: 'abc' }), null)
})

it('reports all errors of the variant that the value names', () => {
  assert.deepEqual(errorsOf({ kind: 'circle', radius: '1', text: 'long text' }), {
    radius: ['The radius field must be an integer.'],
  })
  assert.deepEqual(errorsOf({ kind: 'label', text: 'long', link: 'nowhere' }), {
    text: ['The text field must not be greater than 3 characters.'],
    link: ['The link field must be an absolute URI.'],
  })
})

it('never coerces types or variants', () => {
  for (const radius of ['1', 1.5, true, null, [1], Number.NaN, Infinity]) {
    assert.deepEqual(Object.keys(errorsOf({ kind: 'circle', radius })), ['radius'])
  }
})

it('reports a missing or unknown tag and still validates the rest', () => {
  assert.deepEqual(errorsOf({ radius: 1 }), { kind: ['The kind field is required.'] })
  assert.deepEqual(errorsOf({ kind: 'square', radius: 'x' }), {
    kind: ['The kind field must be one of: circle, label.'],
    radius: ['The radius field must be an integer.'],
  })
  for (const kind of ['__proto__', 'constructor', 'toString']) {
    assert.deepEqual(Object.keys(errorsOf({ kind, radius: 1 })), ['kind'])
  }
})

it('distinguishes a non-object from an empty object', () => {
  for (const value of [[], 'circle', 1, null]) {
    assert.deepEqual(errorsOf(value), { body: ['The body field must be an object.'] })
  }
})

it('accepts an absolute URI without white space or control characters', () => {
  const check = compileBodySchema(Type.String({ format: 'uri' }))
  const right = ['https://a.example', 'app://x', 'HTTP://A/ä?b=c#d', 'urn:a:b', 'mailto:a@b.c']
  for (const uri of right) assert.equal(check(uri), null, uri)
  const wrong = ['', 'a', '/a', '//a', 'https:', 'https://', '1a:b', 'a:b c', 'a:b\n', 'https://[']
  for (const uri of wrong) assert.equal(check(uri)?.length, 1, uri)
})

it('compiles a schema without variants unchanged', () => {
  const check = compileBodySchema(Type.Object({ date: Type.String({ minLength: 1 }) }))
  assert.equal(check({ date: 'today' }), null)
  assert.equal(check({ date: '' })?.[0]?.keyword, 'minLength')
})

function errorsOf(value: unknown): Record<string, string[]> {
  const list = new FieldErrorList()
  addSchemaErrors(list, checkShape(value) ?? [])
  return list.toErrors()
}
