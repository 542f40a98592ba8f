import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const source = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8')
/** Each color is `light-dark(#rrggbb, #rrggbb)`. */
const COLORS = [
  ...source.matchAll(/--color-([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g),
]

/** Text needs 4.5 : 1 on its ground (WCAG 2.2, 1.4.3), the edge of a control 3 : 1 (1.4.11). */
const PAIRS: [front: string, ground: string, ratio: number][] = [
  ...['ground', 'surface', 'surface-quiet'].flatMap(ground => [
    ['text', ground, 4.5] as [string, string, number],
    ['text-quiet', ground, 4.5] as [string, string, number],
    ['line-control', ground, 3] as [string, string, number],
    ['focus', ground, 3] as [string, string, number],
  ]),
  ['link', 'ground', 4.5],
  ['link', 'surface', 4.5],
  ['action-text', 'action', 4.5],
  ['action-text', 'action-strong', 4.5],
  ['danger-text', 'danger', 4.5],
  ['danger', 'surface', 4.5],
  ['danger', 'danger-ground', 4.5],
  ['notice', 'notice-ground', 4.5],
  ['success', 'success-ground', 4.5],
]

for (const scheme of ['light', 'dark'] as const) {
  it(`every text color has sufficient contrast, ${scheme}`, () => {
    const weak = PAIRS.map(([front, ground, ratio]) => {
      const found = contrast(color(scheme, front), color(scheme, ground))
      return found < ratio ? `${front} on ${ground}: ${found.toFixed(2)} < ${ratio}` : null
    })
    assert.deepEqual(
      weak.filter(line => line !== null),
      [],
    )
  })
}

it('gives every color a light and a dark value', () => {
  const declared = [...source.matchAll(/--color-([\w-]+):/g)].map(([, name]) => name)
  assert.deepEqual(
    COLORS.map(([, name]) => name),
    declared,
  )
})

it('draws the mark in the colors of an action', () => {
  const mark = readFileSync(join(import.meta.dirname, 'mark.svg'), 'utf8')
  const used = new Set(mark.match(/#[0-9a-f]{6}/g))
  assert.deepEqual(used, new Set([color('light', 'action'), color('light', 'action-text')]))
})

function color(scheme: 'light' | 'dark', name: string): string {
  const [, , light, dark] = COLORS.find(([, found]) => found === name) ?? []
  const found = scheme === 'light' ? light : dark
  assert.ok(found, name)
  return found
}

function contrast(one: string, other: string): number {
  const [bright = 0, dim = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
  return (bright + 0.05) / (dim + 0.05)
}

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
