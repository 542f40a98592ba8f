import assert from 'node:assert/strict'
import { it } from 'node:test'
import Type from 'typebox'
import { Refusal } from './refusal.ts'
import { readPathParameters, Validator } from './validator.ts'

const CIRCLE = Type.Object({ kind: Type.Literal('circle'), radius: Type.Integer() })
const LABEL = Type.Object({
  kind: Type.Literal('label'),
  text: Type.String({ maxLength: 3 }),
  link: Type.Optional(Type.String({ format: 'uri' })),
})
const shape = new Validator(
  Type.Unsafe({ oneOf: [CIRCLE, LABEL], discriminator: { propertyName: 'kind' } }),
)

it('returns an input of either variant without changing it', () => {
  const circle = Object.freeze({ kind: 'circle', radius: 1, unknown: 'extra' })
  assert.equal(shape.validate(circle), circle)
  assert.deepEqual(shape.validate({ kind: 'label', text: 'abc' }), { kind: 'label', text: 'abc' })
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
  for (const value of [[], 'circle', 1]) {
    assert.deepEqual(errorsOf(value), { body: ['The body field must be an object.'] })
  }
})

it('counts a missing input and null as an empty object', () => {
  for (const value of [undefined, null, {}]) {
    assert.deepEqual(Object.keys(errorsOf(value)), ['kind', 'radius'])
  }
})

it('accepts an absolute URI without white space or control characters', () => {
  const link = new Validator(Type.Object({ uri: Type.String({ format: 'uri' }) }))
  const right = ['https://a.example', 'app://x', 'HTTP://A/ä?b=c#d', 'urn:a:b', 'mailto:a@b.c']
  for (const uri of right) assert.deepEqual(link.validate({ uri }), { uri })
  const wrong = ['', 'a', '/a', '//a', 'https:', 'https://', '1a:b', 'a:b c', 'a:b\n', 'https://[']
  for (const uri of wrong) assert.throws(() => link.validate({ uri }), Refusal, uri)
})

it('lets an operation add errors of its own rules to those of the schema', () => {
  const validation = shape.begin({ kind: 'circle', radius: 'x' })
  validation.errors.add('kind', 'No circles today.')
  assert.throws(() => validation.finish(), {
    errors: {
      radius: ['The radius field must be an integer.'],
      kind: ['No circles today.'],
    },
  })
})

it('reports members in the order of the schema, with their own errors, and parses them', () => {
  const person = new Validator(
    Type.Object({ name: Type.String(), age: Type.Integer({ minimum: 1 }) }),
    {
      members: {
        name: { error: 'Enter a name.', parse: name => name.trim() || null },
        age: { error: keyword => (keyword === 'minimum' ? 'Not born yet.' : null) },
      },
    },
  )
  assert.deepEqual(person.validate({ name: ' Ada ', age: 36, more: 1 }), {
    name: 'Ada',
    age: 36,
    more: 1,
  })
  for (const [input, errors] of [
    [undefined, { name: ['Enter a name.'], age: ['The age field is required.'] }],
    [[], { name: ['Enter a name.'], age: ['The age field is required.'] }],
    [
      { age: 0, name: ' ' },
      { name: ['Enter a name.'], age: ['Not born yet.'] },
    ],
    [{ age: '1', name: 'Ada' }, { age: ['The age field must be an integer.'] }],
  ] as const) {
    const entries = Object.entries(errors)
    assert.throws(
      () => person.validate(input),
      (error: Refusal) => {
        assert.deepEqual(Object.entries(error.errors ?? {}), entries)
        return true
      },
    )
  }
})

const page = new Validator(
  Type.Object({
    page: Type.Optional(Type.Integer({ minimum: 1 })),
    name: Type.Optional(Type.String({ maxLength: 3 })),
  }),
  { coerceTypes: true },
)

it('reads integers of a query from digits, and nothing else as integers', () => {
  assert.deepEqual(page.validate({ page: '12', name: '12' }), { page: 12, name: '12' })
  for (const text of ['', '0', '-1', '1.5', '1e2', ' 1', '0x1', ['1', '2']]) {
    assert.throws(() => page.validate({ page: text }), Refusal, String(text))
  }
})

it('picks the members that fit, for links to pages', () => {
  assert.deepEqual(page.pickValid({ page: '0', name: 'Ada', more: 'x' }), { name: 'Ada' })
  assert.deepEqual(page.pickValid({ page: '2', name: ['Ada', 'Bob'] }), { page: 2 })
  for (const nothing of [undefined, null, [], 'page=2', {}]) {
    assert.deepEqual(page.pickValid(nothing), {})
  }
})

it('returns parameters of a path, and fails for a name that the path does not have', () => {
  const params = { workspace: '1', user: '2' }
  assert.deepEqual(readPathParameters(params, 'workspace', 'user'), params)
  assert.deepEqual(readPathParameters(params, 'user'), { user: '2' })
  for (const wrong of [params, {}, null]) {
    assert.throws(() => readPathParameters(wrong, 'member'), /has no member/)
  }
})

function errorsOf(value: unknown): Record<string, string[]> {
  try {
    shape.validate(value)
    return {}
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.errors ?? {}
  }
}
