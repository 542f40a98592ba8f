import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { elementBounds, memberSlice, memberSlices } from './json-slice.ts'

const layouts = fc.constantFrom(undefined, 1, '\t', '\r\n ')

it('finds every element of any array where JSON.parse finds it', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), layouts, (values, layout) => {
      const bytes = Buffer.from(layOut(values, layout))
      assert.deepEqual(
        slicesOf(bytes).map(text => JSON.parse(text)),
        JSON.parse(bytes.toString()),
      )
    }),
  )
})

it('finds every member of any object where JSON.parse finds it', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), layouts, (values, layout) => {
      const bytes = Buffer.from(layOut(values, layout))
      const found = [...memberSlices(bytes, 0)].map(([name, { start, end }]) => [
        name,
        JSON.parse(bytes.toString('utf8', start, end)),
      ])
      const expected = Object.entries(JSON.parse(bytes.toString()))
      assert.deepEqual(new Map(found as []), new Map(expected as []))
    }),
  )
})

it('returns the digits of a number as written', () => {
  const bytes = Buffer.from('{"value": 19.90 ,"big":123456789012345.678900}')
  assert.equal(textAt(bytes, 'value'), '19.90')
  assert.equal(textAt(bytes, 'big'), '123456789012345.678900')
})

it('returns the last of repeated names, escaped names included, like JSON.parse', () => {
  const bytes = Buffer.from('{"value":1,"other":{"value":9},"value":2,"v\\u0061lue":3}')
  assert.equal(textAt(bytes, 'value'), '3')
})

it('ignores brackets, commas and escaped quotes inside strings', () => {
  const bytes = Buffer.from('["a]b,\\"}{", "\\\\", [], {}, [[1,2],{"x":"]"}]]')
  assert.deepEqual(slicesOf(bytes), ['"a]b,\\"}{"', '"\\\\"', '[]', '{}', '[[1,2],{"x":"]"}]'])
})

it('finds nothing in an empty object and an empty array', () => {
  assert.equal(memberSlice(Buffer.from(' { } '), 0, 'value'), undefined)
  assert.deepEqual(elementBounds(Buffer.from(' [ ] '), 0), [])
})

function layOut(value: unknown, layout: string | number | undefined): string {
  return JSON.stringify(value, null, typeof layout === 'number' ? layout : (layout ?? ''))
}

function slicesOf(bytes: Buffer): string[] {
  const bounds = elementBounds(bytes, 0)
  const starts = bounds.filter((_, index) => index % 2 === 0)
  return starts.map((start, index) => bytes.toString('utf8', start, bounds[index * 2 + 1]))
}

function textAt(bytes: Buffer, name: string): string | undefined {
  const slice = memberSlice(bytes, 0, name)
  return slice && bytes.toString('utf8', slice.start, slice.end)
}
