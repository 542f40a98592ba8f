import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findMembers } from './document-checks.ts'
import { printOpenapi } from './print-openapi.ts'

// biome-ignore lint/suspicious/noExplicitAny: the printed document, read as any tool would read it
const document: any = JSON.parse(printOpenapi())
const { schemas } = document.components

/** Paths of the members that `isWrong` for a client generator. */
function findPaths(member: string, isWrong: (value: unknown, schema: Schema) => boolean): string[] {
  return findMembers(member, document)
    .filter(([path, value]) => isWrong(value, nodeAt(path)) && !path.includes('examples'))
    .map(([path]) => path.join('/'))
}

type Schema = Record<string, unknown>

function nodeAt(path: readonly string[]): Schema {
  return path.reduce((node, name) => node[name], document)
}

it('lists types only to add null, because generators for Go refuse other lists', () => {
  const isOtherList = (type: unknown) =>
    Array.isArray(type) && (type.length !== 2 || type[1] !== 'null')
  assert.deepEqual(findPaths('type', isOtherList), [])
  assert.equal(schemas.EventTime.anyOf.length, 2)
})

it('has no default in a body, because generators for TypeScript make such members required', () => {
  const defaults = findPaths('default', () => true).filter(path => !path.startsWith('servers/'))
  const bodies = defaults.filter(path => !/^paths\/.+\/parameters\/\d+\/schema$/.test(path))
  assert.deepEqual(bodies, [])
})

it('names the type of every enumeration', () => {
  assert.deepEqual(
    findPaths('enum', (_, { type }) => type !== 'string'),
    [],
  )
})

it('names numbers double, because clients for Go read others in single precision', () => {
  assert.deepEqual(
    findPaths('type', (type, { format }) => [type].flat()[0] === 'number' && format !== 'double')
      // What a body must not be has no values.
      .filter(path => !path.includes('/not/')),
    [],
  )
})

it('names integers of more than 32 bits int64', () => {
  const isWide = (schema: Schema) => Number(schema.maximum) > 2_147_483_647
  assert.deepEqual(
    findPaths('maximum', (_, schema) => isWide(schema) && schema.format !== 'int64'),
    [],
  )
})

it('names every object and every union, so that clients have no types without a name', () => {
  const isNameless = (_: unknown, { title }: Schema) => title === undefined
  assert.deepEqual(findPaths('properties', isNameless), [])
  assert.deepEqual(findPaths('oneOf', isNameless), [])
})

it('distinguishes the variants of a union by one member', () => {
  for (const name of ['EventSubmission', 'DryRunAction']) {
    const { oneOf, discriminator } = schemas[name]
    assert.equal(Object.keys(discriminator.mapping).length, oneOf.length, name)
  }
})

it('allows null where a body is optional', () => {
  const optional = Object.values<Schema>(document.paths)
    .flatMap(methods => Object.values(methods) as { operationId: string; requestBody?: Body }[])
    .filter(({ requestBody }) => requestBody?.required === false)
  assert.deepEqual(
    optional.map(({ operationId }) => operationId),
    ['sendTestPurchase', 'replayDeliveries'],
  )
  for (const { requestBody } of optional) {
    const { $ref } = requestBody?.content['application/json'].schema ?? {}
    const { type, not } = schemas[String($ref).slice('#/components/schemas/'.length)]
    const refused = (not.anyOf as Schema[]).map(other => other.type)
    assert.deepEqual([type, refused], [undefined, ['array', 'boolean', 'number', 'string']])
  }
})

interface Body {
  required: boolean
  content: { 'application/json': { schema: Schema } }
}

it('states the bounds of times and pages', () => {
  const { minimum, maximum } = schemas.UnixSeconds
  assert.deepEqual([minimum, maximum], [0, 99_999_999_999])
  const bounds = ['/dashboard/events', '/agent/workspaces/{workspace}/actions'].map(path => {
    const { parameters } = document.paths[path].get
    const page = parameters.find(({ name }: { name: string }) => name === 'page')
    return [page.schema.minimum, page.schema.maximum]
  })
  assert.deepEqual(bounds, [
    [1, 1_000_000_000],
    [1, 2_147_483_647],
  ])
})
