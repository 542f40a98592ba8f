import assert from 'node:assert/strict'
import { it } from 'node:test'
import Type, { type TSchema } from 'typebox'
import { Refusal } from './refusal.ts'
import { FieldErrorList, Validator } from './validator.ts'

it('keeps the order of fields and removes duplicate sentences', () => {
  const list = new FieldErrorList()
  assert.ok(list.isEmpty)
  list.add('b', 'First.')
  list.add('a', 'Second.')
  list.add('b', 'Third.')
  list.add('b', 'First.')
  assert.ok(!list.isEmpty)
  assert.ok(list.has('a'))
  assert.ok(!list.has('c'))
  assert.deepEqual(Object.entries(list.toErrors()), [
    ['b', ['First.', 'Third.']],
    ['a', ['Second.']],
  ])
})

it('has a sentence for every schema keyword of the contract', () => {
  for (const [schema, value, sentence] of [
    [Type.String(), 1, 'must be a string'],
    [Type.Integer(), 'x', 'must be an integer'],
    [Type.Number(), 'x', 'must be a number'],
    [Type.Boolean(), 'x', 'must be true or false'],
    [Type.Array(Type.Unknown()), 'x', 'must be a list'],
    [Type.Object({}), 'x', 'must be an object'],
    [Type.Unsafe({ type: ['integer', 'string'] }), [], 'must be an integer or a string'],
    [Type.Null(), 'x', 'must be null'],
    [Type.String({ minLength: 1 }), '', 'must not be empty'],
    [Type.String({ maxLength: 2 }), 'abc', 'must not be greater than 2 characters'],
    [Type.Array(Type.Unknown(), { maxItems: 1 }), [1, 2], 'must not have more than 1 items'],
    [Type.Array(Type.Unknown(), { minItems: 1 }), [], 'must not be empty'],
    [Type.Array(Type.Unknown(), { uniqueItems: true }), [1, 1], 'must not contain duplicates'],
    [Type.Literal('a'), 'b', 'must be a'],
    [Type.Unsafe({ enum: ['a', 'b'] }), 'c', 'must be one of: a, b'],
    [Type.String({ pattern: '^x$' }), 'y', 'has an invalid format'],
    [Type.String({ format: 'uri' }), 'y', 'must be an absolute URI'],
    [Type.Integer({ minimum: 1 }), 0, 'must be at least 1'],
    [Type.Integer({ maximum: 1 }), 2, 'must not be greater than 1'],
  ] as [TSchema, unknown, string][]) {
    const errors = errorsOf(Type.Object({ field: schema }), { field: value })
    assert.deepEqual(errors, { field: [`The field field ${sentence}.`] })
  }
})

it('reports the alternative whose type fits, or the types of all alternatives', () => {
  const alternatives = [Type.Integer({ minimum: 0 }), Type.String({ minLength: 1 })]
  const schema = Type.Object({ field: Type.Unsafe({ anyOf: alternatives }) })
  for (const [value, sentence] of [
    [-1, 'must be at least 0'],
    ['', 'must not be empty'],
    [[], 'must be an integer or a string'],
    [null, 'must be an integer or a string'],
  ] as const) {
    assert.deepEqual(errorsOf(schema, { field: value }), {
      field: [`The field field ${sentence}.`],
    })
  }
})

it('names nested fields by a dotted path and unescapes their names', () => {
  const item = Type.Object({ 'a/b~c': Type.Integer(), needed: Type.Integer() })
  const schema = Type.Object({ list: Type.Array(item) })
  assert.deepEqual(Object.keys(errorsOf(schema, { list: [{ 'a/b~c': 'x' }] })).sort(), [
    'list.0.a/b~c',
    'list.0.needed',
  ])
})

it('names an unknown member', () => {
  const inner = Type.Object({}, { additionalProperties: false })
  const schema = Type.Object({ list: Type.Array(inner) }, { additionalProperties: false })
  assert.deepEqual(errorsOf(schema, { list: [{ x_y: 1 }] }), {
    'list.0.x_y': ['The list.0.x_y field is not known here; remove it.'],
  })
  // Anything else may be personal data and is not repeated.
  assert.deepEqual(errorsOf(schema, { list: [{ 'jane@shop.example': 1 }], 4915112345: 2 }), {
    body: ['The body field has a member that is not known here; remove it.'],
    'list.0': ['The list.0 field has a member that is not known here; remove it.'],
  })
})

it('reports at most a thousand fields', () => {
  const list = new FieldErrorList()
  for (let index = 0; index < 2_000; index += 1) list.add(`list.${index}`, 'It is wrong.')
  list.add('list.0', 'It is wrong in another way.')
  const errors = list.toErrors()
  assert.equal(Object.keys(errors).length, 1_000)
  assert.equal(errors['list.0']?.length, 2)
})

it('summarizes errors as the first sentence and a count', () => {
  const messageOf = (errors: Record<string, string[]>) => Refusal.ofFields(errors).message
  assert.equal(messageOf({ a: ['One.'] }), 'One.')
  assert.equal(messageOf({ a: ['One.'], b: ['Two.'] }), 'One. (and 1 more error)')
  assert.equal(messageOf({ a: ['One.', 'Two.'], b: ['Three.'] }), 'One. (and 2 more errors)')
  assert.equal(messageOf({}), 'The request is invalid.')
})

function errorsOf(schema: TSchema, value: unknown): Record<string, string[]> {
  try {
    new Validator(schema).validate(value)
    return {}
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.errors ?? {}
  }
}
